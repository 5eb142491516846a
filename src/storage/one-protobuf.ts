/**
 * External storage works only where Temporal's common package and its message types share one copy of protobufjs: a type of
 * one copy is none to another ("type must be a Type"). Found out when a worker or a client is made, rather than in a run.
 */
import { createRequire } from 'node:module';
import { z } from 'zod';

export interface ProtobufCopies {
  /** Folders or files that tell the copies apart. */
  readonly ofCommon: string;
  readonly ofProto: string;
  /** Of the copy that the message types have. */
  readonly version: string;
}

/** @throws Error, one sentence on what to do, where the copies differ. */
export function checkOneProtobuf({ ofCommon, ofProto, version }: ProtobufCopies = installed()): void {
  if (ofCommon === ofProto) return;
  throw new Error(
    `External storage does not work with two copies of protobufjs, one for @temporalio/common (${ofCommon}) and one for ` +
      `@temporalio/proto (${ofProto}); make them share one: npm install protobufjs@${version} && npm dedupe`,
  );
}

const PACKAGE = z.object({ version: z.string() });

function installed(): ProtobufCopies {
  const common = createRequire(createRequire(import.meta.url).resolve('@temporalio/common'));
  // proto is no dependency of ours; common's is the one that counts.
  const proto = createRequire(common.resolve('@temporalio/proto'));
  const { version } = PACKAGE.parse(proto('protobufjs/package.json'));
  return { ofCommon: common.resolve('protobufjs'), ofProto: proto.resolve('protobufjs'), version };
}
