import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Addresses of metadata services, which hand out a cloud machine's credentials to any program on the machine, and all other link-local
 * addresses. A request may be sent to them only if the flow itself specifies the host.
 */
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

/** Addresses of hosts in an internal network, and addresses that do not belong to a single host (IANA's special-purpose registries). */
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

/** Calls `make` on the first call. Most flows never need these lists of addresses, because they specify all hosts themselves. */
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

/** Thrown if a host that comes from a record or a server has a forbidden IP address. */
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

/** `isAllowed` is true if addresses in the internal network are allowed for this host. */
function refuseAddress(address: string, host: string, isAllowed: boolean): void {
  const bare = address.replace(/%.*$/, '');
  const plain = embeddedIpv4(bare) ?? bare;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  const leads = `the origin (scheme, host and port) of this request is not written literally in the flow, and "${host}" leads to ${address}`;
  if (metadataAddresses().check(plain, family)) {
    const listed = isAllowed ? '\na record can never lead to such an address, even if allow_hosts lists it' : '';
    throw new AddressRefused(address, `${leads}, a link-local or metadata address${listed}`);
  }
  if (!isAllowed && insideNetwork().check(plain, family)) {
    throw new AddressRefused(address, `${leads}, inside the network\nto allow it, list it under allow_hosts in the flow`);
  }
}

/** Prefixes of IPv6 addresses that contain an IPv4 address, which begins with the 16-bit group at index `at`. */
const carriers: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], at: 6 }, // IPv4-mapped (RFC 4291, 2.5.5.2)
  { prefix: [0, 0, 0, 0, 0xffff, 0], at: 6 }, // IPv4-translated (RFC 2765, 2.1)
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 }, // IPv4-compatible (RFC 4291, 2.5.5.1). This prefix also matches :: and ::1, whose IPv4 forms are refused as internal addresses, too.
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

/** Returns the eight 16-bit groups of an IPv6 address. The class URL first converts the address to its canonical form. */
function ipv6Groups(address: string): number[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (text: string | undefined) => (text ? text.split(':').map((group) => Number.parseInt(group, 16)) : []);
  const head = numbers(before);
  const tail = numbers(after);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** Entries of `allow_hosts` may have a port. IPv6 addresses may have brackets. */
export function isListed(origin: string, allowHosts: readonly string[]): boolean {
  const { hostname, host } = new URL(origin);
  return allowHosts.some((listed) => {
    const name = listed.toLowerCase();
    return name === hostname || name === host || `[${name}]` === hostname;
  });
}

/** Checks a host that is an IP address, and throws AddressRefused. `guardedLookup` cannot: Node calls it only for names. */
export function refuseHost(origin: string, isAllowed: boolean): void {
  const { hostname } = new URL(origin);
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) refuseAddress(bare, hostname, isAllowed);
}

/** The lookup fails with AddressRefused if one of the addresses is forbidden. */
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

/** For a request through a proxy. Rejects with AddressRefused if the host has a forbidden address; accepts a name unknown here. */
export function refuseName(origin: string, isAllowed: boolean): Promise<void> {
  const { hostname } = new URL(origin);
  return new Promise((resolve, reject) => {
    guardedLookup(isAllowed)(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error) => {
      if (error instanceof AddressRefused) reject(error);
      else resolve();
    });
  });
}
