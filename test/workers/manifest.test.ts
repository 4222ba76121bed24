import { describe, expect, test } from 'vitest';
import { checkedManifest, type Manifest, queueNeed } from '../../src/workers/manifest.ts';
import { prepareRun } from '../../src/workers/worker-run.ts';
import { forgedManifest, hostileFlows } from '../helpers/forged-run.ts';

const run = '3f0c7d6e-1111-4222-8333-444455556666';
const flow = 'nodes:\n  - { type: http, url: "https://api.example.com/{{id}}" }\n';
const good = forgedManifest(run, flow);

/** Sends a manifest through JSON, as a worker receives it, and checks it. */
const checked = (manifest: unknown): Manifest => checkedManifest(JSON.parse(JSON.stringify(manifest)), run);

describe('a worker of a queue', () => {
  test('accepts a manifest with all options that a run has', () => {
    const options = {
      ...good.flow.options,
      name: 'crm',
      var: [['a', 'b']],
      concurrency: 'auto',
      intervalMs: 100,
      allowHttp: true,
      files: { 'a.json': '{}' },
    };
    const saved = { crm: { type: 'http', base_url: 'https://api.example.com' } };
    const manifest = {
      ...good,
      flow: { ...good.flow, options: { ...options, saved } },
      set: [['c', 'd']],
      cacert: { pem: '-----BEGIN' },
    };
    expect(checked(manifest)).toEqual(manifest);
  });

  test.each([
    ['nothing', null, 'its manifest is not valid'],
    ['a list', [], 'its manifest is not valid'],
    ['the files of a machine', { files: { folder: '/' } }, 'its manifest asks for "files", which workers of a queue do not accept'],
    ['an unknown option', { maxErrors: 5 }, 'its manifest asks for "maxErrors"'],
    [
      'an unknown option of the flow',
      { flow: { ...good.flow, options: { ...good.flow.options, withoutFiles: false } } },
      'asks for "flow.options.withoutFiles"',
    ],
    ['certificate authorities in a file', { cacert: '/etc/ssl/cert.pem' }, 'unexpected value of "cacert"'],
    [
      "the connections on the worker's machine",
      { flow: { ...good.flow, options: { allowHttp: false, textCells: true } } },
      'unexpected value of "flow.options.saved"',
    ],
    ['the id of a different run', { run: '../../etc' }, 'its manifest belongs to a different run'],
    ['a different version', { version: '0.0.1' }, 'unexpected value of "version"'],
    ['an environment that is not a name', { env: '../production' }, 'unexpected value of "env"'],
    ['a wrong format', { format: { kind: 'exe', gzip: false } }, 'unexpected value of "format.kind"'],
  ])('refuses a manifest with %s', (_name, change, message) => {
    const manifest = change === null || Array.isArray(change) ? change : { ...good, ...change };
    expect(() => checked(manifest)).toThrow(message);
  });

  test.each(hostileFlows)('refuses a flow that %s', async (_name, text, message) => {
    const preparing = prepareRun(checked(forgedManifest(run, text)), { warn: () => undefined, needOf: queueNeed });
    await expect(preparing).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining(message) });
  });

  test('with AUTOMATE_ENV takes only runs of that environment', () => {
    const before = process.env.AUTOMATE_ENV;
    process.env.AUTOMATE_ENV = 'staging';
    try {
      expect(() => checked(good)).toThrow('it is for the environment default, and this worker is only for staging (AUTOMATE_ENV)');
      expect(checked({ ...good, env: 'staging' }).env).toBe('staging');
    } finally {
      if (before === undefined) delete process.env.AUTOMATE_ENV;
      else process.env.AUTOMATE_ENV = before;
    }
  });
});
