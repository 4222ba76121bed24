import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Metadata services, which hand out credentials of a cloud machine, and all link-local addresses: reached only if the flow names the host. */
const metadataAddresses = lazily(() =>
  blockList([
    '169.254.0.0/16',
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fe80::/10',
    'fd00:ec2::/32',
    'fd20:ce::254/128',
  ]),
);

/** Addresses inside a network, or of no single host (IANA's special-purpose registries). */
const insideNetwork = lazily(() =>
  blockList([
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '224.0.0.0/3',
    '2001::/32',
    'fc00::/7',
    'fec0::/10',
    'ff00::/8',
  ]),
);

/** Makes a list when it is first needed: most flows name their hosts. */
function lazily<Thing extends object>(make: () => Thing): () => Thing {
  let made: Thing | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split('/') as [string, string];
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** A host that the flow does not name leads to an address that is refused. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor(
    readonly address: string,
    message: string,
  ) {
    super(message);
  }
}

/** Throws AddressRefused if an address must not be reached. */
function refuseAddress(address: string, host: string, isAllowed: boolean): void {
  const bare = address.replace(/%.*$/, '');
  const plain = embeddedIpv4(bare) ?? bare;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  const leads = `the flow does not name the whole origin (scheme, host and port) of this request to "${host}", which leads to ${address}`;
  if (metadataAddresses().check(plain, family)) {
    const listed = isAllowed ? '\nsuch an address is refused whenever a record names it, listed under allow_hosts or not' : '';
    throw new AddressRefused(address, `${leads}, a link-local or metadata address${listed}`);
  }
  if (!isAllowed && insideNetwork().check(plain, family)) {
    throw new AddressRefused(address, `${leads}, inside the network\nlist it under allow_hosts in the flow if that is what you want`);
  }
}

/** Prefixes of IPv6 addresses that carry an IPv4 address, and the group at which the IPv4 address begins. */
const carriers: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], at: 6 }, // IPv4-mapped (RFC 4291, 2.5.5.2)
  { prefix: [0, 0, 0, 0, 0xffff, 0], at: 6 }, // IPv4-translated (RFC 2765, 2.1)
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 }, // IPv4-compatible (RFC 4291, 2.5.5.1); :: and ::1 look the same, and are as much inside
  { prefix: [0x64, 0xff9b], at: 6 }, // NAT64 (RFC 6052, RFC 8215)
  { prefix: [0x2002], at: 1 }, // 6to4 (RFC 3056)
];

function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const groups = ipv6Groups(address);
  const carrier = carriers.find(({ prefix }) => prefix.every((group, index) => groups[index] === group));
  if (!carrier) return undefined;
  const [high = 0, low = 0] = groups.slice(carrier.at);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight groups of an IPv6 address. URL gives its one canonical form. */
function ipv6Groups(address: string): number[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (text: string | undefined) => (text ? text.split(':').map((group) => Number.parseInt(group, 16)) : []);
  const head = numbers(before);
  const tail = numbers(after);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** True if the flow lists the host, with or without its port; an IPv6 address with or without brackets. */
export function isListed(origin: string, allowHosts: readonly string[]): boolean {
  const { hostname, host } = new URL(origin);
  return allowHosts.some((listed) => {
    const name = listed.toLowerCase();
    return name === hostname || name === host || `[${name}]` === hostname;
  });
}

/** Checks a host that is itself an address: Node looks up names only. Throws AddressRefused. */
export function refuseHost(origin: string, isAllowed: boolean): void {
  const { hostname } = new URL(origin);
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) refuseAddress(bare, hostname, isAllowed);
}

/** Looks host names up, and refuses a name that leads to a refused address. */
export function guardedLookup(isAllowed: boolean): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    lookup(hostname, all, (error, found) => {
      const addresses = found as LookupAddress[];
      try {
        if (error) throw error;
        for (const { address } of addresses) refuseAddress(address, hostname, isAllowed);
      } catch (reason) {
        return callback(reason as NodeJS.ErrnoException, []);
      }
      const [first] = addresses;
      if (options.all || !first) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}

/** Checks the addresses of a name as seen from here. A name that is not known here is not refused. Throws AddressRefused. */
export function refuseName(origin: string, isAllowed: boolean): Promise<void> {
  const { hostname } = new URL(origin);
  return new Promise((resolve, reject) => {
    guardedLookup(isAllowed)(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error) => {
      if (error instanceof AddressRefused) reject(error);
      else resolve();
    });
  });
}
