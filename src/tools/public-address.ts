/** Which IP addresses are out on the internet. Everything else may be the worker's own network. Pure. */
import { BlockList, isIP } from 'node:net';

/** Source: the IANA special-purpose registries for IPv4 and IPv6, and multicast. */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Of 2000::/3; what is outside of that is not public. Teredo (in 2001::/23) and 6to4 carry IPv4 addresses within. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const SPECIAL = listOf(...SPECIAL_V4, ...SPECIAL_V6);
const GLOBAL_V6 = listOf('2000::/3');

/** @param address as `net` and `dns` write it; a zone (`%eth0`) is allowed, brackets are not */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  if (isIP(plain) === 4) return !SPECIAL.check(plain, 'ipv4');
  // IPv4 written as IPv6 (::ffff:10.0.0.1) lies outside of 2000::/3 too; nothing on the internet is only reached so.
  return isIP(plain) === 6 && GLOBAL_V6.check(plain, 'ipv6') && !SPECIAL.check(plain, 'ipv6');
}

function listOf(...subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/');
    list.addSubnet(net, Number(prefix), isIP(net) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
