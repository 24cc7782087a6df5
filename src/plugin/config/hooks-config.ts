export interface HooksConfig {
  readonly enabled: boolean
  readonly global_dir: string | undefined
  readonly project_local: boolean
  readonly time_limit_ms: number | undefined
  readonly options: Readonly<Record<string, HookFileOptions>>
}

export type HookFileOptions = Readonly<Record<string, unknown>>

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
