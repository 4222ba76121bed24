import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { type FlowOptions, type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const node = (text: string, type = 'text/xml', more = '') =>
  `nodes:\n  - type: http\n    url: https://api.example.com/x\n    method: POST\n    headers: { content-type: '${type}' }\n    text: '${text}'\n${more}`;

const sent = async (yaml: string, record: GivenRecord, options: FlowOptions = {}) => {
  const { requests, failures } = await runFlow(yaml, [record], options);
  return { body: requests[0]?.body, failures };
};

describe('a text with an XML content type', () => {
  test.each([['text/xml'], ['Application/SOAP+XML; charset=utf-8'], ['application/xml'], ['application/atom+xml']])(
    'is sent with values that are escaped for their places: %s',
    async (type) => {
      const yaml = node('<a b="{{x}}">{{x}}<![CDATA[{{y}}]]></a>', type);
      const expected = '<a b="B&amp;2&lt;3">B&amp;2&lt;3<![CDATA[]]]]><![CDATA[>]]></a>';
      expect(await sent(yaml, { x: 'B&2<3', y: ']]>' })).toEqual({ body: expected, failures: [] });
    },
  );

  test.each([['text/plain'], ['application/json'], ['{{type}}']])(
    'is not assumed for the content type %s, so the values stay as they are',
    async (type) => {
      expect((await sent(node('<a>{{x}}</a> {{x}}', type), { x: '&', type: 'text/xml' })).body).toBe('<a>&</a> &');
    },
  );

  test('can get the content type from the connection, also from a saved one', async () => {
    const connection = { type: 'http', base_url: 'https://api.example.com', headers: { 'Content-Type': 'text/xml' } };
    const nodes = 'vars: { v: "<" }\nnodes: [{ type: http, connection: soap, method: POST, url: /, text: "<a>{{vars.v}}{{x}}</a>" }]';
    const yaml = `connections: { soap: ${JSON.stringify(connection)} }\n${nodes}`;
    expect((await sent(yaml, { x: '&' })).body).toBe('<a>&lt;&amp;</a>');
    expect((await sent(nodes, { x: '&' }, { savedConnections: { soap: connection } })).body).toBe('<a>&lt;&amp;</a>');
    const own = yaml.replace('url: /,', 'url: /, headers: { content-type: text/plain },');
    expect((await sent(own, { x: '&' })).body).toBe('<a><&</a>');
  });

  test('inserts the fields of raw as they are, and validate says so once for each', async () => {
    const yaml = node('<a>{{x}}{{part}}{{part}}</a>', 'text/xml', '    raw: [part]\n');
    expect((await sent(yaml, { x: '<', part: '<b/>' })).body).toBe('<a>&lt;<b/><b/></a>');
    expect(planFor(yaml).notes).toEqual(['http-1: {{part}} is XML already (raw), and is sent without escaping']);
  });

  test('fails a record before anything is sent if a value has a character that XML cannot contain', async () => {
    const { body, failures } = await sent(node('<a>{{x}}</a>'), { x: 'a\u0000' });
    expect([body, failures]).toEqual([
      undefined,
      [expect.objectContaining({ class: 'request', message: 'the field "x" contains the character U+0000, which XML cannot contain' })],
    ]);
  });

  test('reports each reference that cannot be escaped, with its position', () => {
    const yaml = node('<a><!-- {{x}} --><{{y}}/></a>{{z}}');
    expect(flowProblems(yaml).map(onOneLine)).toEqual([
      '6:20 {{x}} is in a comment of the XML, where no value can be escaped',
      '6:30 {{y}} is in a tag of the XML, and not in the value of an attribute in quotes, where no value can be escaped',
      '6:41 {{z}} is outside of the elements of the XML, where no text is allowed',
    ]);
    expect(flowProblems(yaml)[2]?.message.split('\n')[1]).toBe(
      'if the field is XML already, write raw: [z]; otherwise put it into an element',
    );
  });

  test('reports a text in which the place of a reference is unknown', () => {
    const vars = node('<a>{{vars.long_name}}{{x}} < 5</a>').replace('nodes:', 'vars: { long_name: v }\nnodes:');
    const message = 'expected XML, as the content type says, found "<" without a tag, a comment or a section that ends';
    expect(flowProblems(vars).map(onOneLine)).toEqual([`7:39 ${message}`]);
  });

  test.each([
    [
      'a name that the text does not use',
      node('<a>{{part}}</a>', 'text/xml', '    raw: [prat]\n'),
      '7:11 text has no {{prat}}; did you mean "part"?',
    ],
    [
      'a text that is not XML',
      node('{{part}}', 'text/plain', '    raw: [part]\n'),
      '7:10 raw is only for text whose Content-Type is XML, such as text/xml: nothing is escaped here',
    ],
    [
      'a body',
      'nodes: [{ type: http, url: "https://a.com", method: POST, body: {}, raw: [part] }]',
      '1:74 raw belongs to text: it names fields of an XML text',
    ],
  ])('reports raw for %s', (_what, yaml, problem) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual([problem]);
  });
});
