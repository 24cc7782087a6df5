import { BACKEND_TYPES, isBackendType } from '../delivery/backends/rows.ts'
import { readEndpoint } from '../plugin/config/backends.ts'
import { nearestName } from '../plugin/config/nearest.ts'
import { type OptionRow, WrongUse } from './options.ts'

/** Takes the short form of a backend in the configuration. */
export const BACKEND_OPTION: OptionRow & { readonly value: string; readonly many: true } = {
  value: 'TYPE[=URL]',
  many: true,
  offers: BACKEND_TYPES,
  help: 'send to this backend instead of the configured ones, for example --backend jaeger',
}

/**
 * Validates the values of `--backend`: `TYPE`, `TYPE=URL`, `file=PATH` or a URL. The configuration skips an invalid backend and
 * goes on; on the command line it must fail before anything is sent.
 *
 * @throws WrongUse if the type is unknown or the URL is invalid
 */
export function checkBackends(values: readonly string[]): readonly string[] {
  for (const value of values) if (!/^https?:/i.test(value)) checkTyped(value)
  return values
}

function checkTyped(value: string): void {
  const [, name = '', target] = /^([^=]*)(?:=(.*))?$/s.exec(value) ?? []
  const type = name.trim().toLowerCase()
  if (!isBackendType(type)) throw new WrongUse(unknownType(name, type))
  if (type === 'file' && (target ?? '').trim() === '') throw new WrongUse('--backend file takes a path: file=PATH')
  if (type === 'file' || target === undefined) return
  const reading = readEndpoint(target)
  if ('reason' in reading) throw new WrongUse(`--backend ${type}: ${reading.reason}`)
}

function unknownType(name: string, type: string): string {
  const meant = nearestName(type, BACKEND_TYPES)
  const advice = meant === undefined ? `Types: ${BACKEND_TYPES.join(', ')}` : `Did you mean ${meant}?`
  return `--backend does not know the type ${JSON.stringify(name.slice(0, 40))}; ${advice[0]?.toLowerCase()}${advice.slice(1)}`
}
