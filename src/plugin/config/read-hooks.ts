import { isAbsolute } from 'node:path'
import { HOOKS_DEFAULT, HOOKS_FIELDS, type HookFileOptions, type HooksConfig } from './hooks-config.ts'
import { expandHome } from './paths.ts'
import { emptyMap, isBlank, isPlainMap, type Plain, type PlainMap, Unusable } from './plain.ts'
import { type ReadResult, refuse, report, type Site, within } from './reading.ts'
import { isScalar, readBool, readMillis, readText, warnUnknown } from './values.ts'

export function readHooks(value: Plain, site: Site): ReadResult<HooksConfig> {
  if (isPlainMap(value)) return { value: readFields(value, site) }
  const isOn = readBool(value)
  if ('value' in isOn) return { value: { ...HOOKS_DEFAULT, enabled: isOn.value } }
  const folder = readFolder(value, site)
  return 'value' in folder
    ? { value: { ...HOOKS_DEFAULT, global_dir: folder.value } }
    : refuse(value, 'true, false, an absolute path or a mapping')
}

function readFields(map: PlainMap, site: Site): HooksConfig {
  warnUnknown(map, Object.keys(HOOKS_FIELDS), site)
  const field = <Value>(
    name: keyof typeof HOOKS_FIELDS,
    read: (value: Plain) => ReadResult<Value>,
  ): Value | undefined => {
    const value = map[name]
    if (isBlank(value)) return undefined
    const reading = read(value)
    if ('value' in reading) return reading.value
    report(within(site, name), reading.reason, 'leaving it out')
    return undefined
  }
  return {
    enabled: true,
    global_dir: field('global_dir', value => readFolder(value, site)),
    project_local: field('project_local', readBool) ?? HOOKS_DEFAULT.project_local,
    time_limit_ms: field('time_limit_ms', value => readMillis(value, { min: 1 })),
    options: field('options', value => readOptions(value, within(site, 'options'))) ?? HOOKS_DEFAULT.options,
  }
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
