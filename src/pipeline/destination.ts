import { createHash } from 'node:crypto'
import type { BackendPlan } from './backend-plan.ts'

const CHARACTERS = 16
/** The names that this machine has for itself. */
const THIS_MACHINE = /^(https?:\/\/)(?:localhost|\[::1\])(?=[:/]|$)/i

/**
 * Tells where a backend's traces go from where any other's go: the same for the same name and the same address. A hash,
 * because an address may hold a key, and this stands in the trace log.
 */
export function destinationOf({ settings, urls, options }: BackendPlan): string {
  const url = urls.traces?.replace(THIS_MACHINE, (_whole, scheme: string) => `${scheme}127.0.0.1`)
  const address = url ?? options['path'] ?? ''
  return createHash('sha256').update(`${settings.name}\n${address}`).digest('hex').slice(0, CHARACTERS)
}
