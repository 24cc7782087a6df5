import { isAbsolute } from 'node:path'
import { shownUrl } from '../../delivery/backends/http-url.ts'
import { isShownField, placeOfBackend } from './backends.ts'
import type { HooksConfig } from './hooks.ts'
import { KEEP_DEFAULT, type KeepConfig } from './keep.ts'
import { KEY_NAMES, KEY_ROWS, type KeyName, type KeyRow } from './keys.ts'
import { configFiles, type Environment } from './paths.ts'
import type { PricesConfig } from './prices.ts'
import { showName } from './reading.ts'
import type { BackendConfig, ConfigSource, PrometheusAddress, Resolution } from './types.ts'

export interface ShownKey {
  readonly key: string
  readonly value: string
  readonly source: string
}

const SET = '<set>'
const UNSET: { readonly [Type in KeyRow['type']]?: string } = {
  prometheus: 'off',
  hooks: 'the usual folder',
  prices: 'off',
  keep: 'off',
}

export function showConfig(resolution: Pick<Resolution, 'config' | 'sources'>): readonly ShownKey[] {
  return KEY_NAMES.flatMap(key => {
    const origin = resolution.sources.get(key)
    const source = showSource(origin)
    const { backends } = resolution.config
    if (key !== 'backends' || backends.length === 0)
      return [{ key, value: showValue(key, resolution.config[key]), source }]
    return backends.map((backend, index) => ({
      key: `backends[${index}]`,
      value: showBackend(backend),
      source: (origin?.from === 'file' ? placeOfBackend(backend) : undefined) ?? source,
    }))
  })
}

export function usualPlace(env: Environment, home: string): string {
  const [usual = ''] = configFiles(env, home)
  return isAbsolute(usual) ? `the usual place is ${usual}` : 'there is no home directory to look in'
}

function showSource(source: ConfigSource | undefined): string {
  if (!source || source.from === 'default') return source?.detail ? `default (${source.detail})` : 'default'
  return source.detail ?? source.from
}

function showValue(key: KeyName, value: unknown): string {
  if (value === undefined) return UNSET[KEY_ROWS[key].type] ?? 'none'
  if (typeof value !== 'object' || value === null) return String(value)
  const show = SHOWN_BY[KEY_ROWS[key].type]
  if (show !== undefined) return show(value as never)
  const size = Object.keys(value).length
  if (size === 0) return 'none'
  if (KEY_ROWS[key].private) return `${SET} (${size})`
  const pairs = Object.entries(value).map(([name, each]) => `${name}=${each}`)
  return Array.isArray(value) ? value.join(', ') : pairs.join(', ')
}

const SHOWN_BY: { readonly [Type in KeyRow['type']]?: (value: never) => string } = {
  prometheus: ({ host, port }: PrometheusAddress) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`),
  prices: ({ own }: PricesConfig) => (own.length === 0 ? 'the list' : `${own.length} of your own, then the list`),
  hooks: showHooks,
  keep: showKeep,
}

/** Options of a file are shown as `<set>`, because they may be secrets. */
function showHooks({ enabled, options, ...rest }: HooksConfig): string {
  if (!enabled) return 'off'
  const parts = Object.entries(rest).flatMap(([field, value]) => (value === undefined ? [] : [`${field}=${value}`]))
  return [...parts, ...showHidden('options', options)].join(' ')
}

function showHidden(field: string, values: object): string[] {
  const shown = Object.keys(values).map(name => `${showName(name)}: ${SET}`)
  return shown.length === 0 ? [] : [`${field}={${shown.join(', ')}}`]
}

function showKeep(config: KeepConfig): string {
  const { hold, max_bytes, ...rules } = config
  const isInForce = ([, value]: [string, unknown]): boolean =>
    value !== undefined && value !== false && String(value) !== ''
  const how = Object.entries({ hold, max_bytes }).filter(([field, value]) => value !== KEEP_DEFAULT[field as 'hold'])
  const inForce = [...Object.entries(rules).filter(isInForce), ...how]
  return inForce.map(([field, value]) => `${field}=${String(value)}`).join(' ') || 'nothing'
}

function showBackend({ type, name, endpoint, headers, headers_command, options, ...rest }: BackendConfig): string {
  const own = Object.entries(options).map(([option, value]) => {
    const shown = option === 'base_url' ? showUrl(value) : value
    return [showName(option), isShownField(option) ? shown : SET] as const
  })
  const fields: Record<string, unknown> = {
    type,
    ...(name !== type && { name }),
    ...(endpoint !== undefined && { endpoint: showUrl(endpoint) }),
    ...(headers_command !== undefined && { headers_command: SET }),
    ...rest,
    ...Object.fromEntries(own),
  }
  const parts = Object.entries(fields).map(([field, value]) => `${field}=${String(value)}`)
  return [...parts, ...showHidden('headers', headers)].join(' ')
}

function showUrl(text: string): string {
  return shownUrl(text)?.replace(/^(https?:\/\/[^/]+)\/$/, '$1') ?? SET
}
