import { beforeEach, describe, expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { type HttpServer, httpServer, json } from '../helpers/http-server.ts';

let upstream: HttpServer;
let place: Workplace;
let status: (path: string) => number;

/** The API responds with the requested path, which the flow's fail_when turns into a failure's message. */
beforeEach(async () => {
  status = () => 200;
  upstream = await httpServer(({ path, headers }, response) =>
    json(response, { asked: path, auth: headers.authorization ?? '' }, status(path)),
  );
  place = await workplace({ 'in.csv': 'id\n1\n2\n3\n', 'flow.yaml': flowWith() });
});

const flowWith = (region = 'null') => `vars:
  api: { default: "${upstream.origin}", staging: "${upstream.origin}/staging" }
  region: ${region}
connections:
  crm: { type: http, base_url: "{{vars.api}}/v2", auth: { type: bearer, credential: crm } }
nodes:
  - { type: http, connection: crm, url: "/{{id}}?r={{vars.region}}", map: [asked], retry: { max: 0 } }
`;

const env = { AUTOMATE_CREDENTIAL_CRM: 'canary-secret' };

const run = (...args: string[]) => place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', ...args], { env });

const paths = () => upstream.requests.map(({ path }) => path);

describe('a run of a flow with variables', () => {
  test('accepts --var and --env, and sends its credential to a URL from a variable', async () => {
    const { code, stderr } = await run('--var', 'region=eu', '--env', 'staging', '--limit', '1');
    expect([code, paths()], stderr).toEqual([0, ['/staging/v2/1?r=eu']]);
    expect(upstream.requests[0]?.headers.authorization).toBe('Bearer canary-secret');
    expect(await place.read('out.csv')).toBe('id,asked\n1,/staging/v2/1?r=eu\n');
  });

  test('uses the environment in AUTOMATE_ENV, and the last value of a repeated --var', async () => {
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--limit', '1', '--var', 'region=a', '--var', 'region=b=c'];
    await place.automate(args, { env: { ...env, AUTOMATE_ENV: 'staging' } });
    expect(paths()).toEqual(['/staging/v2/1?r=b%3Dc']);
  });

  test('exits with 3, and says which option to add, if a variable has no value', async () => {
    const { code, stderr } = await run();
    expect([code, paths(), await place.files()]).toEqual([3, [], ['flow.yaml', 'in.csv']]);
    expect(stderr).toContain('flow.yaml:3:3: the variable "region" has no value');
    expect(stderr).toContain('give it a value: --var region=VALUE');
  });

  test.each([
    ['region', '--var: expected NAME=VALUE, such as region=eu'],
    ['regoin=eu', '--var: the flow has no variable "regoin"; did you mean "region"?'],
    ['region={{id}}', 'expected no references in it'],
    [`region=ghp_${'a1B2'.repeat(9)}`, 'the value of "region" looks like a secret'],
  ])('refuses --var %s with exit code 2, and sends nothing', async (given, message) => {
    const { code, stderr } = await run('--var', given);
    expect([code, paths(), stderr.includes('a1B2')]).toEqual([2, [], false]);
    expect(stderr).toContain(message);
  });

  test('repeats its variables in the commands that it suggests', async () => {
    status = () => 403;
    const { stderr } = await run('--var', 'region=eu us', '--max-errors', '0');
    expect(stderr).toContain("automate run flow.yaml --in in.csv --out out.csv --var 'region=eu us' --max-errors 0 --resume");
  });
});

describe('--resume of a run with variables', () => {
  const stopped = async () => {
    status = (path) => (path.includes('/2?') ? 500 : 200);
    expect((await run('--var', 'region=eu', '--max-errors', '0', '--concurrency', '1')).code).toBe(5);
    status = () => 200;
  };
  const resumed = (...args: string[]) => run('--concurrency', '1', '--resume', ...args);

  test('continues if the values are the same', async () => {
    await stopped();
    expect((await resumed('--var', 'region=eu')).code).toBe(4);
    expect(await place.read('out.csv')).toBe('id,asked\n1,/v2/1?r=eu\n3,/v2/3?r=eu\n');
  });

  test('exits with 73 and names the variable if a value is different', async () => {
    await stopped();
    const { code, stderr } = await resumed('--var', 'region=us');
    expect([code, paths().filter((path) => path.includes('us'))]).toEqual([73, []]);
    expect(stderr).toContain('began it:\n  the variable region has changed\n');
    expect(stderr).not.toContain('the flow has changed');
  });

  test("says whether a variable's value or the rest of the flow has changed", async () => {
    await stopped();
    await place.write('flow.yaml', flowWith().replace(`default: "${upstream.origin}"`, `default: "${upstream.origin}/other"`));
    const value = await resumed('--var', 'region=eu');
    expect(value.stderr).toContain('began it:\n  the variable api has changed\n');
    await place.write('flow.yaml', flowWith().replace('/{{id}}', '/x/{{id}}'));
    const other = await resumed('--var', 'region=eu');
    expect([value.code, other.code]).toEqual([73, 73]);
    expect(other.stderr).toContain('began it:\n  the flow has changed\n');
  });

  test('continues if a value in the flow is the same but written differently', async () => {
    await stopped();
    await place.write('flow.yaml', flowWith('eu  # for all'));
    expect((await resumed()).code).toBe(4);
  });
});

describe('automate retry of a run with variables', () => {
  const failed = async () => {
    status = (path) => (path.includes('/2?') ? 500 : 200);
    expect((await run('--var', 'region=eu')).code).toBe(4);
    status = () => 200;
  };
  const retry = (...args: string[]) => place.automate(['retry', 'out.csv', ...args], { env });

  test('uses the same values as the run', async () => {
    await failed();
    const { code, stderr } = await retry();
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('has changed');
    expect(await place.read('out.csv')).toBe('id,asked\n1,/v2/1?r=eu\n2,/v2/2?r=eu\n3,/v2/3?r=eu\n');
  });

  test('exits with 73 and names the variable if a value is different', async () => {
    await failed();
    const given = await retry('--var', 'region=us');
    await place.write('flow.yaml', flowWith().replace(`default: "${upstream.origin}"`, `default: "${upstream.origin}/other"`));
    const written = await retry();
    expect([given.code, written.code]).toEqual([73, 73]);
    expect(given.stderr).toContain('out.csv cannot be retried with different values: the variable region has changed\n');
    expect(written.stderr).toContain('out.csv cannot be retried with different values: the variable api has changed\n');
    expect(paths().filter((path) => path.includes('/2?'))).toHaveLength(1);
    expect((await retry('--var', `api=${upstream.origin}`)).code).toBe(0);
  });
});

describe("the values of a flow's variables", () => {
  test('are checked by validate', async () => {
    expect((await place.automate(['validate', 'flow.yaml', '--offline'], { env })).code).toBe(3);
    const { code, stdout } = await place.automate(['validate', 'flow.yaml', '--offline', '--var', 'region=eu'], { env });
    expect([code, stdout]).toEqual([0, 'flow.yaml is valid: 1 node\n']);
  });

  test('cause a warning in validate if a variable is never used', async () => {
    await place.write('flow.yaml', flowWith().replace('?r={{vars.region}}', ''));
    const { code, stderr } = await place.automate(['validate', 'flow.yaml', '--var', 'region=eu'], { env });
    expect([code, stderr.split('\n')[0]]).toEqual([0, 'flow.yaml:3:3: warning: the variable "region" is never used']);
  });

  test('are used in the request of test-request', async () => {
    const args = ['test-request', 'flow.yaml', '--set', 'id=9', '--var', 'region=eu', '--env', 'staging'];
    expect((await place.automate(args, { env })).code).toBe(0);
    expect(paths()).toEqual(['/staging/v2/9?r=eu']);
    const { stdout } = await place.automate([...args, '--curl'], { env });
    expect(stdout).toContain(`${upstream.origin}/staging/v2/9?r=eu`);
  });

  test('determine the hosts that doctor checks', async () => {
    const doctor = async (...args: string[]) => {
      const { stdout } = await place.automate(['doctor', 'flow.yaml', '--json', ...args], { env });
      const findings = JSON.parse(stdout) as { check: string; state: string; message: string }[];
      return findings.find(({ check }) => check === 'flow');
    };
    expect(await doctor('--var', 'region=eu')).toMatchObject({ state: 'ok' });
    expect(await doctor()).toMatchObject({ state: 'problem', message: expect.stringContaining('"region" has no value') });
  });

  test('are shown in a dry run', async () => {
    const { code, stdout } = await run('--var', 'region=eu', '--dry-run');
    expect([code, paths()]).toEqual([0, []]);
    expect(stdout).toContain(`GET ${upstream.origin}/v2/1?r=eu`);
  });
});
