import { describe, expect, test } from 'vitest';
import { curlRequest } from '../../src/cli/curl.ts';
import { starterFlow } from '../../src/flow/starter.ts';

describe('a curl command line', () => {
  test.each([
    ['wget https://a.example', 'expected a command line that begins with curl'],
    ['curl', 'expected one URL in the curl command, found none'],
    ['curl https://a.example https://b.example', 'found 2'],
    ['curl https://a.example | jq .', 'found "|" behind it'],
    ["curl 'https://a.example", 'a quote in the command has no end'],
    ['curl https://a.example -F file=x', "no counterpart of curl's -F"],
    ['curl https://a.example --aws-sigv4 x', "no counterpart of curl's --aws-sigv4"],
    ['curl https://a.example -H', "curl's -H lacks its value"],
    ['curl https://a.example -d a=b', 'expected a JSON body'],
    ['curl https://a.example -d @body.json', 'a body from a file'],
    ['curl https://a.example -X DELETE -d {}', 'a DELETE has no body in a flow'],
    ['curl https://a.example -I', "no counterpart of curl's -I"],
    ['curl https://a.example -X OPTIONS', 'found OPTIONS'],
    [
      'curl https://hooks.slack.com/services/T0000000/B0000000/aBcDeFgHiJkLmNoPqRsTuVwX -d {}',
      'holds a secret, which a flow does not keep',
    ],
  ])('is refused: %s', (curl, message) => {
    expect(() => starterFlow(curlRequest(curl).request)).toThrow(message);
  });

  test('says what of it a flow has no place for', () => {
    const { notes } = curlRequest('curl -k -x proxy.example:3128 --cacert ca.pem https://a.example -m 2.5 --retry 2');
    expect(notes.map((note) => note.split(' was')[0])).toEqual(['-k', '-x', '--cacert']);
  });

  test('says how long and how often', () => {
    const { text } = starterFlow(curlRequest('curl https://a.example -m 2.5 --retry 2').request);
    expect(text).toContain('timeout: 2500ms\n    retry:\n      max: 2\n');
  });

  test.each([
    ['localhost:9200/a?b', 'http://localhost:9200/a?b'],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['api.example.com/a', 'https://api.example.com/a'],
    ['http://api.example.com/a#part', 'http://api.example.com/a'],
  ])('a URL may lack its scheme: %s', (written, url) => {
    expect(curlRequest(`curl ${written}`).request.url).toBe(url);
  });
});
