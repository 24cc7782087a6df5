import { isAbsolute } from 'node:path'
import { expandHome } from './paths.ts'
import { emptyMap, isPlainMap, type Plain, Unusable } from './plain.ts'
import { type ReadResult, refuse, report, type Site, within } from './reading.ts'
import { type FieldReaders, isScalar, readBool, readFields, readMillis, readText } from './values.ts'

export interface HooksConfig {
  readonly enabled: boolean
  readonly global_dir: string | undefined
  readonly project_local: boolean
  readonly time_limit_ms: number | undefined
  readonly options: Readonly<Record<string, HookFileOptions>>
}

type HookFileOptions = Readonly<Record<string, unknown>>

export type UserHooks = { readonly [Field in Exclude<keyof HooksConfig, 'enabled'>]?: HooksConfig[Field] | undefined }

export const HOOKS_FIELDS: Readonly<Record<keyof UserHooks, string>> = {
  global_dir: 'Folder of your own guards, absolute or with `~/`; default: `hooks` beside the configuration file',
  project_local:
    'Load `.hookspan/hooks` of a project in programs that call `loadHooks({ project })`, after `hookspan hooks trust`; default: `false`',
  time_limit_ms: 'Time limit of all guards of a phase together; default: 10000',
  options: 'Mapping of file names to the options of each file; `isolate` and `required` apply to the file itself',
}

export const HOOKS_DEFAULT: HooksConfig = Object.freeze({
  enabled: true,
  global_dir: undefined,
  project_local: false,
  time_limit_ms: undefined,
  options: Object.freeze({}),
})

export function readHooks(value: Plain, site: Site): ReadResult<HooksConfig> {
  if (isPlainMap(value)) return { value: readFields(value, READERS, HOOKS_DEFAULT, site) }
  const isOn = readBool(value)
  if ('value' in isOn) return { value: { ...HOOKS_DEFAULT, enabled: isOn.value } }
  const folder = readFolder(value, site)
  return 'value' in folder
    ? { value: { ...HOOKS_DEFAULT, global_dir: folder.value } }
    : refuse(value, 'true, false, an absolute path or a mapping')
}

const READERS: FieldReaders<HooksConfig> = {
  global_dir: readFolder,
  project_local: readBool,
  time_limit_ms: value => readMillis(value, { min: 1 }),
  options: readOptions,
}

/** A relative path is refused: it would differ in each project, and run code of that project's author. */
function readFolder(value: Plain, { home }: Site): ReadResult<string> {
  const reading = readText(value)
  if ('reason' in reading) return reading
  const path = expandHome(reading.value, home)
  return isAbsolute(path) ? { value: path } : refuse(value, 'an absolute path')
}

/** Values may be secrets, and never appear in a message. */
function readOptions(value: Plain, site: Site): ReadResult<HooksConfig['options']> {
  if (!isPlainMap(value)) return refuse(value, 'a mapping of file names to options', true)
  const kept = emptyMap<HookFileOptions>()
  for (const [name, options] of Object.entries(value)) {
    if (options === undefined) continue
    if (isPlainMap(options)) kept[name] = typed(options) as HookFileOptions
    else report(within(site, name), refuse(options, 'a mapping', true).reason, 'leaving it out')
  }
  return { value: Object.freeze(kept) }
}

/** Restores types: in a file every scalar is text, and `5` or `true` is meant as a number or boolean. */
function typed(value: Plain): unknown {
  if (value instanceof Unusable) return undefined
  if (Array.isArray(value)) return value.map(typed)
  if (isPlainMap(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, typed(each)]))
  if (!isScalar(value) || typeof value !== 'string') return value
  if (value === 'true' || value === 'false') return value === 'true'
  return value !== '' && String(Number(value)) === value && Number.isFinite(Number(value)) ? Number(value) : value
}
