import { basename, dirname, join } from 'node:path';
import { statOf } from '../files/stat.ts';

/** Returns the path of a flow's test file: flow.test.yaml for flow.yaml, or flow.test.yml if only that file exists. */
export function testFileOf(flow: string): string {
  const path = join(dirname(flow), `${basename(flow).replace(/\.ya?ml$/i, '')}.test.yaml`);
  const short = path.replace(/yaml$/, 'yml');
  return !statOf(path) && statOf(short) ? short : path;
}
