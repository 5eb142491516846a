/** This very package: its version, its folder, and where its entry points are. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const PACKAGE = z.object({
  version: z.string(),
  exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
});

export interface PackageInfo {
  readonly version: string;
  /** Absolute. */
  readonly folder: string;
  /** `everlap/worker` and the like to the absolute path of its file. */
  readonly entryPoints: Readonly<Record<string, string>>;
}

export function packageInfo(): PackageInfo {
  const root = new URL('../../', import.meta.url);
  const { version, exports } = PACKAGE.parse(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')));
  const entryPoints = Object.fromEntries(
    Object.entries(exports).map(([name, target]) => [
      `everlap${name.slice(1)}`,
      fileURLToPath(new URL(typeof target === 'string' ? target : target.default, root)),
    ]),
  );
  return { version, folder: fileURLToPath(root), entryPoints };
}
