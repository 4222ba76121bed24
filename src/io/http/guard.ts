import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Where cloud machines hand out their own credentials, and the rest of the link: never reached for a record's sake. */
const neverReached = blockList(['169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32', 'fe80::/10', 'fd00:ec2::254/128']);

/** Inside a network, or no address of a single host at all. */
const insideNetwork = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fc00::/7',
  'ff00::/8',
]);

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split('/') as [string, string];
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** A record named a host that records must not reach. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

/** Throws AddressRefused when an address must not be reached. */
function refuseAddress(address: string, host: string, isAllowed: boolean): void {
  const plain = embeddedIpv4(address) ?? address;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (neverReached.check(plain, family)) {
    throw new AddressRefused(`the host "${host}" comes from the record and leads to ${address}, a link-local or metadata address`);
  }
  if (!isAllowed && insideNetwork.check(plain, family)) {
    throw new AddressRefused(
      `the host "${host}" comes from the record and leads to ${address}, inside the network\nlist it under allow_hosts in the flow if that is what you want`,
    );
  }
}

/** The IPv4 address in ::ffff:a.b.c.d (RFC 4291, 2.5.5.2) and 64:ff9b::a.b.c.d (RFC 6052). */
function embeddedIpv4(address: string): string | undefined {
  const dotted = /^(?:::ffff:|64:ff9b::)(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const number = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
}

/** Checks a host that is itself an address; a custom look-up is never asked about those. Throws AddressRefused. */
export function refuseHost(origin: string, allowHosts: readonly string[]): void {
  const { hostname, host } = new URL(origin);
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0)
    refuseAddress(bare, hostname, allowHosts.includes(hostname) || allowHosts.includes(host) || allowHosts.includes(bare));
}

/** A look-up of names that refuses what they must not lead to. */
export function guardedLookup(allowHosts: readonly string[]): LookupFunction {
  return (hostname, options, callback) => {
    const wanted: LookupOptions = { ...options, all: true };
    lookup(hostname, wanted, (error, found) => {
      const addresses = found as LookupAddress[];
      try {
        if (error) throw error;
        for (const { address } of addresses) refuseAddress(address, hostname, allowHosts.includes(hostname));
      } catch (reason) {
        return callback(reason as NodeJS.ErrnoException, []);
      }
      const [first] = addresses;
      if (options.all || !first) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}
