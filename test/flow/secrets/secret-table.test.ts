import { describe, expect, test } from 'vitest';
import { secretShapes } from '../../../src/core/text/secret-shapes.ts';
import { flowProblems, onOneLine } from '../../helpers/flow-problems.ts';
import { ofNode, random, secret } from './canary.ts';

describe('the table of patterns for literal secrets', () => {
  const mixed = (length: number) => 'aB3dE5gH7jK9mN1pQ3sT5vW7'.repeat(4).slice(0, length);
  const hex = (length: number) => '9f86d081884c7d659a2feaa0c55ad015'.repeat(2).slice(0, length);
  const upper = (length: number) => 'QZ7KV2ND5XW3'.repeat(3).slice(0, length);
  /** Prefixes of tokens, each with the rest of a token. A secret scanner would report whole tokens, so they are joined at run time. */
  const tokens = {
    amk_: mixed(49),
    sk_live_: mixed(24),
    sk_test_: mixed(24),
    rk_live_: mixed(24),
    rk_test_: mixed(24),
    whsec_: mixed(32),
    'sq0atp-': mixed(22),
    'sq0csp-': mixed(43),
    shpat_: hex(32),
    shpca_: hex(32),
    shppa_: hex(32),
    shpss_: hex(32),
    'sk-': `ant-api03-${mixed(40)}`,
    gsk_: mixed(52),
    'xai-': mixed(80),
    'pplx-': mixed(48),
    r8_: mixed(37),
    hf_: mixed(34),
    ghp_: mixed(36),
    gho_: mixed(36),
    ghu_: mixed(36),
    ghs_: mixed(36),
    ghr_: mixed(36),
    github_pat_: `${mixed(22)}_${mixed(59)}`,
    'glpat-': mixed(20),
    'gldt-': mixed(20),
    'glrt-': mixed(20),
    'glptt-': hex(40),
    'gloas-': hex(64),
    ATATT3: mixed(80),
    npm_: mixed(36),
    'pypi-': mixed(85),
    rubygems_: hex(48),
    dckr_pat_: mixed(27),
    'xoxa-': `2-${hex(12)}`,
    'xoxb-': `123456789012-${mixed(24)}`,
    'xoxc-': `123456789012-${mixed(24)}`,
    'xoxd-': mixed(40),
    'xoxe-': `1-${mixed(40)}`,
    'xoxp-': `123456789012-${hex(32)}`,
    'xoxr-': `123456789012-${mixed(24)}`,
    'xoxs-': `123456789012-${mixed(24)}`,
    'hooks.slack.com/services/': `T${upper(9)}/B${upper(9)}/${mixed(24)}`,
    'discord.com/api/': `webhooks/123456789012345678/${mixed(68)}`,
    'discordapp.com/api/': `webhooks/123456789012345678/${mixed(68)}`,
    'xapp-': `1-${upper(11)}-${hex(64)}`,
    bot: `1234567890:AA${mixed(33)}`,
    'SG.': `${mixed(22)}.${mixed(43)}`,
    'xkeysib-': `${hex(64)}-${mixed(16)}`,
    AKIA: upper(16),
    ASIA: upper(16),
    AIza: mixed(35),
    'ya29.': mixed(60),
    'GOCSPX-': mixed(28),
    dop_v1_: hex(64),
    doo_v1_: hex(64),
    dor_v1_: hex(64),
    dapi: hex(32),
    'hvs.': mixed(90),
    'dp.pt.': mixed(43),
    sbp_: hex(40),
    glsa_: `${mixed(32)}_${hex(8)}`,
    'NRAK-': upper(27),
    sntryu_: hex(64),
    lin_api_: mixed(40),
    ntn_: mixed(46),
    pat: `${mixed(14)}.${hex(64)}`,
    'pat-': `na1-${hex(8)}-1234-1234-1234-${hex(12)}`,
    figd_: mixed(40),
    'PMAK-': `${hex(24)}-${hex(34)}`,
    eyJ: `${mixed(20)}.eyJ${mixed(20)}.${mixed(43)}`,
  };

  test.each(Object.entries(tokens))('finds a token that begins with %s', (begins, rest) => {
    const found = (value: string) =>
      flowProblems(`nodes: [{ type: http, method: POST, url: https://a.com, body: { note: "to ${value}!" } }]`);
    const problems = found(begins + rest);
    expect(problems.map(onOneLine)).toEqual([expect.stringMatching(/the value of "note" contains a literal secret$/)]);
    expect(JSON.stringify(problems)).not.toContain(rest.slice(0, 8));
    expect(found(begins)).toEqual([]);
    expect(found(`${begins}of-crm`)).toEqual([]);
  });

  const names = {
    authorization: 'header query body',
    'proxy-authorization': 'header body',
    'api-key': 'header query body',
    'api-token': 'header query body',
    'api-secret': 'header query body',
    'auth-key': 'header query body',
    'auth-token': 'header query body',
    'access-key': 'header query body',
    'access-token': 'header query body',
    'secret-key': 'header query body',
    'secret-token': 'header query body',
    'secret-access-key': 'header query body',
    'aws-secret-access-key': 'header query body',
    'private-key': 'header query body',
    'private-token': 'header query body',
    'refresh-key': 'header body',
    'refresh-token': 'header query body',
    'vault-key': 'header body',
    'vault-token': 'header body',
    'subscription-key': 'header query body',
    'subscription-token': 'header body',
    'bearer-token': 'header query body',
    'oauth-token': 'header query body',
    token: 'header query',
    'x-token': 'header query body',
    'client-secret': 'header query body',
    'app-secret': 'header query body',
    'consumer-secret': 'header query body',
    secret: 'header query body',
    password: 'header query body',
    passwd: 'header query body',
    pwd: 'header query body',
    passphrase: 'header query body',
    'x-rapidapi-key': 'header query body',
    'ocp-apim-subscription-key': 'header body',
    'x-functions-key': 'header',
    'x-goog-api-key': 'header',
    'x-amz-security-token': 'header query',
    'x-shopify-access-token': 'header',
    'x-figma-token': 'header',
    'x-postmark-server-token': 'header',
    'x-postmark-account-token': 'header',
    'x-redmine-api-key': 'header',
    'x-cisco-meraki-api-key': 'header',
    'xi-api-key': 'header',
    'dd-api-key': 'header',
    'dd-application-key': 'header',
    'fastly-key': 'header',
    'job-token': 'header query',
    'deploy-token': 'header',
    hapikey: 'query',
    auth: 'header query body',
    pass: 'query body',
    sig: 'query body',
    signature: 'query body',
  };

  test.each(Object.entries(names))('finds a secret called %s (in: %s)', (name, places) => {
    const foundIn = {
      header: (called: string) => ofNode(`headers: { ${called}: ${secret} }`),
      query: (called: string) => ofNode(`url: https://a.com/?a=1&${called}=${secret}`),
      body: (called: string) => ofNode(`body: { ${called}: ${secret} }`),
    };
    const spellings = [name, name.toUpperCase(), name.replaceAll('-', '_'), name.replaceAll('-', ''), `X-${name}`];
    for (const [place, found] of Object.entries(foundIn)) {
      const isFound = places.split(' ').includes(place);
      const counted = isFound ? spellings : spellings.slice(0, 4);
      expect([place, counted.map((called) => found(called).length)]).toEqual([place, counted.map(() => Number(isFound))]);
    }
    const inText = ofNode(`body: '{"${name}": "${secret}"}'`);
    expect(inText).toHaveLength(Number(places.includes('body')));
  });

  const generated = { token: 'body', key: 'query', appid: 'query' };

  test.each(Object.entries(generated))('finds a random value called %s in a %s', (name, place) => {
    const found = (value: string) => ofNode(place === 'body' ? `body: { ${name}: ${value} }` : `url: https://a.com/?${name}=${value}`);
    expect([hex(32), mixed(16), mixed(24)].map((value) => found(value).length)).toEqual([1, 1, 1]);
    expect([secret, 'name', 'name-of-2024', hex(24), random.uuid].flatMap(found)).toEqual([]);
  });

  test('finds a header whose name contains "secret"', () => {
    for (const name of ['Acme-Secret', 'X-Hasura-Admin-Secret', 'acme_secret_word', 'AcmeSecret']) {
      expect(ofNode(`headers: { ${name}: word }`)).toHaveLength(1);
      expect(ofNode(`headers: { ${name}: "{{word}}" }`)).toEqual([]);
    }
  });

  const endings = { '*-key': 'Acme-Key', '*-token': 'Acme-Token', '*-password': 'Acme-Password' };

  test.each(Object.values(endings))('finds a random value in a header whose name ends with %s', (name) => {
    expect(ofNode(`headers: { ${name}: ${mixed(24)} }`)).toHaveLength(1);
    expect(ofNode(`headers: { ${name}: name-of-2024 }`)).toEqual([]);
    expect(ofNode(`body: { ${name}: ${mixed(24)} }`)).toEqual([]);
  });

  test('has only rows that are tested here', () => {
    const rows = secretShapes.map((shape) => ('begins' in shape ? shape.begins : shape.named));
    expect(rows.sort()).toEqual([...[tokens, names, generated, endings].flatMap((shown) => Object.keys(shown)), '*secret*'].sort());
  });
});
