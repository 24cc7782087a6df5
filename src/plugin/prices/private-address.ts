import { BlockList, isIP } from 'node:net'

const PRIVATE = new BlockList()
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  PRIVATE.addSubnet(network, bits, 'ipv4')
}
PRIVATE.addAddress('::1', 'ipv6')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')
PRIVATE.addSubnet('fe80::', 10, 'ipv6')

const LOCAL_NAME = /^[^.]+$|\.(?:local|localhost|internal|lan|home\.arpa)$/

/** True if the URL is on this machine or network. The server is then the user's own, whatever its models are called. */
export function isPrivateAddress(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const family = isIP(host)
  return family === 0 ? LOCAL_NAME.test(host) : PRIVATE.check(host, family === 6 ? 'ipv6' : 'ipv4')
}
