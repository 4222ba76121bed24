import { describe, expect, test } from 'vitest';
import { guardedLookup } from '../../src/http/guard.ts';
import { httpServer } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { createSender } from './sending.ts';

const fromData = (...allowHosts: string[]) => ({ hostFromData: { allowHosts }, timeoutMs: 30_000 });

const metadata = [
  'http://169.254.169.254/',
  'http://169.254.170.2/',
  'http://[fd00:ec2::254]/',
  'http://[fd00:ec2::23]/',
  'http://[fd20:ce::254]/',
  'http://[fe80::1]/',
  'http://[::ffff:169.254.169.254]/',
  'http://[64:ff9b::169.254.169.254]/',
  'http://[64:ff9b:1::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[::169.254.169.254]/',
  'http://[::ffff:0:169.254.169.254]/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://168.63.129.16/',
];

const inside = [
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://127.0.0.1/',
  'http://127.9.9.9/',
  'http://0.0.0.0/',
  'http://0/',
  'http://0x7f.1/',
  'http://2130706433/',
  'http://017700000001/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://198.18.0.1/',
  'http://192.0.0.8/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::7f00:1]/',
  'http://[::ffff:0:10.0.0.1]/',
  'http://[fc00::1]/',
  'http://[fd12:3456::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[64:ff9b::10.0.0.1]/',
  'http://[64:ff9b:1::10.0.0.1]/',
  'http://[2002:a00:1::]/',
  'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'http://localhost/',
];

/** Creates a sender whose requests all go to a proxy on this machine, because a test must not contact a real host. */
async function fenced() {
  const server = await httpServer();
  const proxy = await proxyServer(server.port);
  return { ...createSender({ environment: { HTTP_PROXY: proxy.url } }), seen: proxy.seen };
}

describe('a host that comes from a record', () => {
  test.each(metadata)('is refused at a link-local or metadata address, even if the address is listed: %s', async (url) => {
    const { failure, seen } = await fenced();
    for (const listed of [[], [new URL(url).hostname, new URL(url).host]]) {
      expect(await failure(url, fromData(...listed))).toMatchObject({
        kind: 'request',
        retryable: false,
        sent: false,
        message: expect.stringMatching(
          listed.length > 0
            ? /metadata address\na record can never lead to such an address, even if allow_hosts lists it$/
            : /, a link-local or metadata address$/,
        ),
      });
    }
    expect(seen).toEqual([]);
  });

  test.each(inside)('is refused inside the internal network: %s', async (url) => {
    const { failure, seen } = await fenced();
    expect(await failure(url, fromData('example.com', '10.0.0.2'))).toMatchObject({
      kind: 'request',
      retryable: false,
      sent: false,
      message: expect.stringMatching(/inside the network\nto allow it, list it under allow_hosts in the flow/),
    });
    expect(seen).toEqual([]);
  });

  test('is allowed if the flow lists its name or address, with or without a port, in any case', async () => {
    const server = await httpServer();
    const { get, failure } = createSender();
    const { port } = server;
    for (const host of ['127.0.0.1', 'localhost']) {
      for (const listed of [host, `${host}:${port}`, host.toUpperCase()]) {
        expect((await get(`http://${host}:${port}/`, fromData('example.com', listed))).status).toBe(200);
      }
      expect((await failure(`http://${host}:${port}/`, fromData(`${host}:1`))).kind).toBe('request');
      expect((await failure(`http://${host}:${port}/`, fromData())).kind).toBe('request');
    }
  });

  test('is refused if its name resolves to a link-local address', async () => {
    const error = await new Promise((resolve) => guardedLookup(false)('fe80::1%1', { all: true }, resolve));
    expect(error).toMatchObject({ code: 'ADDRESS_REFUSED', message: expect.stringMatching(/, a link-local or metadata address$/) });
  });

  test('can be listed as an IPv6 address, with or without brackets', async () => {
    const { failure } = createSender();
    for (const listed of ['[::1]', '::1', '[::1]:1']) {
      expect((await failure('http://[::1]:1/', fromData(listed))).kind).toBe('network');
    }
  });

  test.each([
    'http://198.51.100.1',
    'http://172.32.0.1',
    'http://[2001:db8::1]',
    'http://[64:ff9b::c633:6401]',
    'http://[2002:c633:6401::1]',
  ])('is allowed outside the internal network: %s', async (origin) => {
    const { get, seen } = await fenced();
    await get(origin, fromData());
    expect(seen).toEqual([`GET ${origin}/`]);
  });

  test('is refused before a connection is opened, whatever the notation of its address', async () => {
    const server = await httpServer();
    const { failure } = createSender();
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433']) {
      expect((await failure(`http://${host}:${server.port}/`, fromData())).message).toContain('inside the network');
    }
    expect(server.connections()).toBe(0);
  });

  test('is refused if it is not listed, even if a connection to the host is already open', async () => {
    const server = await httpServer();
    const { get, failure } = createSender();
    await get(`http://localhost:${server.port}/`, fromData('localhost'));
    await get(`http://localhost:${server.port}/`);
    expect((await failure(`http://localhost:${server.port}/`, fromData())).kind).toBe('request');
    expect(server.requests).toHaveLength(2);
  });
});

test('a host that is written in the flow is allowed at any address', async () => {
  const server = await httpServer();
  expect((await createSender().get(`http://localhost:${server.port}/`)).status).toBe(200);
});
