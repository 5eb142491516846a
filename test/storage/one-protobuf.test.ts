/** What is said where packages were installed so that external storage cannot work; `test/install` has it for real. */
import { expect, test } from 'vitest';
import { checkOneProtobuf } from '../../src/storage/one-protobuf.js';

test('one copy is fine, as it is installed here', () => {
  expect(() => checkOneProtobuf()).not.toThrow();
  expect(() => checkOneProtobuf({ ofCommon: '/a', ofProto: '/a', version: '8.8.1' })).not.toThrow();
});

test('two are told in one sentence, with what to do', () => {
  expect(() => checkOneProtobuf({ ofCommon: '/common/x', ofProto: '/proto/x', version: '8.8.1' })).toThrow(
    /two copies of protobufjs, .*\/common\/x.*\/proto\/x.*: npm install protobufjs@8\.8\.1 && npm dedupe$/,
  );
});
