import { describe, expect, test } from 'vitest';
import { answerSurvey, answerWorldBank } from '../../examples/servers/census.mjs';
import { answeringServer } from '../helpers/answering-server.ts';
import { readCredits, workplace } from '../helpers/cli.ts';

const secret = 'CANARY0123456789abcdef';
const variables = 'variables: { people: B01003_001E, income: B19013_001E }';

/** Creates a workplace with a flow over tracts. Its connection leads to a server that requires the API key. */
async function censusPlace(rows: string, more = '', options = `year: 2024, geoid: "{{tract}}", ${variables}`) {
  const server = await answeringServer((request) =>
    request.path.startsWith('/v2/') ? answerWorldBank(request) : answerSurvey(request, secret),
  );
  const auth = options.includes('world-bank') ? '' : ', auth: { type: api_key, query: key, credential: bureau }';
  const place = await workplace({
    'flow.yaml': `connections: { own: { type: http, base_url: "${server.origin}"${auth} } }\nnodes: [{ type: census, connection: own, ${options}${more} }]\n`,
    'rows.csv': rows,
  });
  const automate = (args: readonly string[], key = secret) => place.automate(args, { env: { AUTOMATE_CREDENTIAL_BUREAU: key } });
  return { server, place, automate };
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const two = 'tract\n17031000100\n17031000300\n';

describe('a run with a census node', () => {
  test('sends the API key in the query string, and never prints or saves it', async () => {
    const { server, place, automate } = await censusPlace(two);
    const { code, stderr } = await automate([...run, '--verbose', '--events', 'events.ndjson', '--summary', 'summary.json']);
    expect(code).toBe(0);
    expect(await place.read('out.csv')).toBe('tract,people,income\n17031000100,1100,45500\n17031000300,1300,\n');
    expect(server.requests.map(({ path }) => path)).toEqual([
      `/data/2024/acs/acs5?get=NAME,B01003_001E,B19013_001E&for=tract:*&in=state:17%20county:031&key=${secret}`,
    ]);
    for (const file of await place.files()) expect(await place.read(file)).not.toContain('CANARY');
    expect(stderr).not.toContain('CANARY');
    expect(stderr).toContain('&key=***');
  });

  test('reports matches, missing values and the data source in its summary', async () => {
    const { place, automate } = await censusPlace(`${two}17031999999\n`);
    const { stderr } = await automate([...run, '--summary', 'summary.json']);
    expect(stderr).toContain('\n  census: matched 2 of 3, income: 1 without a value\n');
    expect(stderr).toMatch(
      /\n {2}data: This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau\.\n$/,
    );
    expect(JSON.parse(await place.read('summary.json'))).toMatchObject({
      lookups: [{ lookup: 'census', matched: 2, of: 3, without_value: { income: 1 } }],
      attributions: [{ source: 'census-bureau', licence: 'public domain', url: expect.stringContaining('census.gov') }],
    });
  });

  test('caches a response for the next run, even if that run uses a different key', async () => {
    const { server, place, automate } = await censusPlace(two);
    await automate(run);
    expect((await automate([...run, '--force'], 'another-key-0123456789')).code).toBe(0);
    expect(server.requests).toHaveLength(1);
    expect(await readCredits(place)).toMatchObject({ spent: 1 });
  });

  test('does not cache a failure that the server sends with status 200', async () => {
    const options = 'provider: world-bank, country: DE, variables: { x: SP.NOT.THERE }';
    const { server, automate } = await censusPlace('a\n1\n', '', options);
    const { code, stderr } = await automate(run);
    expect(code).toBe(4);
    expect(stderr).toContain('the server says: Invalid value');
    expect((await automate([...run, '--force'])).code).toBe(4);
    expect(server.requests).toHaveLength(2);
  });

  test('ends with exit code 7 if the API key is refused, and can be resumed', async () => {
    const { server, place, automate } = await censusPlace(two);
    const refused = await automate(run, 'a-wrong-key-0123456789');
    expect(refused.code).toBe(7);
    expect(refused.stderr).toContain('stopped: a credential is missing or refused: ');
    expect(refused.stderr).toContain(
      'the server refuses the key of the connection "own" (invalid key); a key is free: https://api.census.gov/data/key_signup.html',
    );
    expect(refused.stderr).toContain('--resume');
    expect(server.requests).toHaveLength(1);
    expect((await automate([...run, '--resume'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('tract,people,income\n17031000100,1100,45500\n17031000300,1300,\n');
  });

  test('caches a response that contains no geographic units', async () => {
    const { server, place, automate } = await censusPlace('tract\n17999000100\n');
    expect((await automate(run)).stderr).toContain('census: matched 0 of 1\n');
    expect((await automate([...run, '--force'])).stderr).toContain('census: matched 0 of 1\n');
    expect([server.requests.length, await place.read('out.csv')]).toEqual([1, 'tract,people,income\n17999000100,,\n']);
  });

  test('says how to store a missing credential', async () => {
    const yaml = `nodes: [{ type: census, credential: my-key, year: 2024, geoid: "{{tract}}", ${variables} }]\n`;
    const { code, stderr } = await (await workplace({ 'flow.yaml': yaml, 'rows.csv': two })).automate(run);
    expect(code).toBe(7);
    expect(stderr).toContain('automate credentials set my-key');
  });

  test('sends nothing without an API key, exits with 7, and says where to get a key', async () => {
    const place = await workplace({
      'flow.yaml': `nodes: [{ type: census, year: 2024, geoid: "{{tract}}", ${variables} }]\n`,
      'rows.csv': two,
    });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(7);
    expect(stderr).toContain('flow.yaml:1:');
    expect(stderr).toContain('there is no credential "census-api-key"');
    expect(stderr).toContain('a key is free: https://api.census.gov/data/key_signup.html');
    expect(stderr).toContain('automate credentials set census-api-key\n  or set AUTOMATE_CREDENTIAL_CENSUS_API_KEY');
    expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
  });
});

describe('other commands with a flow that has a census node', () => {
  test('test-request shows the request, the paths in the response and the mapped fields', async () => {
    const { automate, place } = await censusPlace(two);
    const { code, stdout } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(0);
    expect(stdout).toContain('&in=state:17%20county:031&key=***');
    expect(stdout).toMatch(/\nvalues\.people +number +1100\n/);
    expect(stdout).toMatch(/\nname +string +"Unit 17031000100"\n/);
    expect(stdout).not.toContain('CANARY');
    expect(await readCredits(place)).toMatchObject({ spent: 1 });
  });

  test('test-request exits with 7 if the API key is refused', async () => {
    const { automate } = await censusPlace(two);
    const { code, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv'], 'a-wrong-key-0123456789');
    expect(code).toBe(7);
    expect(stderr).toMatch(/^automate: the server refuses the key /m);
  });

  test('test-request --curl prints a command with a shell variable for the API key', async () => {
    const { automate } = await censusPlace(two);
    const { code, stdout } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--curl']);
    expect(code).toBe(0);
    expect(stdout).toContain('/data/2024/acs/acs5?get=NAME,B01003_001E,B19013_001E&for=tract:*&in=state:17%20county:031');
    expect(stdout).not.toContain('CANARY');
  });

  test('a dry run expects one credit for all tracts of a county', async () => {
    const { automate } = await censusPlace(`tract\n${Array.from({ length: 50 }, (_, index) => `1703100${index + 1000}\n`).join('')}`);
    const { stdout } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(stdout).toContain('credits:   0 at least, 1 expected, 50 at most');
  });

  test('a dry run expects one credit for each combination of record and World Bank variable', async () => {
    const options = 'provider: world-bank, country: "{{c}}", variables: { a: SP.POP.TOTL, b: NY.GDP.PCAP.CD }';
    const { automate, server } = await censusPlace('c\nDE\nFR\n', '', options);
    const { code, stderr, stdout } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout + stderr).toContain('credits:   0 at least, 4 expected, 4 at most');
    expect(server.requests).toHaveLength(0);
  });

  test('test-request requests only the first World Bank variable, and says so', async () => {
    const options = 'provider: world-bank, country: "{{c}}", variables: { a: SP.POP.TOTL, b: NY.GDP.PCAP.CD }';
    const { automate, server, place } = await censusPlace('c\nDE\n', '', options);
    const { code, stdout, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
    expect([code, server.requests.length]).toEqual([0, 1]);
    expect(stderr).toContain('a run sends 2 requests for each record: this is the first\n');
    expect(stdout).toMatch(/\nvalues\.a +number +83510950\n/);
    expect(await readCredits(place)).toMatchObject({ spent: 1 });
  });

  test('`automate validate` accepts the flow, and `automate nodes` explains the node type', async () => {
    const { automate } = await censusPlace(two);
    expect((await automate(['validate', 'flow.yaml'])).code).toBe(0);
    const { stdout } = await automate(['nodes', 'census']);
    expect(stdout).toContain('variables: mapping, required');
    for (const option of ['provider', 'geoid', 'zcta', 'variables', 'cache']) expect(stdout).toContain(option);
  });
});
