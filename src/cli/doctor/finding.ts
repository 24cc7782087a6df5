/** `note`: information; `warn`: works, but needs attention; `fail`: broken, and the exit code is 1. */
export type Level = 'ok' | 'note' | 'warn' | 'fail'

export const AREAS = [
  'Node',
  'Configuration',
  'Trace log',
  'Backends',
  'Clocks',
  'Proxies',
  'Waiting for delivery',
  'Lost',
] as const

export type Area = (typeof AREAS)[number]

/** The result of one check. Contains no secrets. */
export interface Finding {
  readonly level: Level
  readonly area: Area
  readonly what: string
  readonly remedy?: string
}

export function finding(level: Level, area: Area, what: string, remedy?: string): Finding {
  return { level, area, what, ...(remedy === undefined ? {} : { remedy }) }
}

export function isWrong({ level }: Finding): boolean {
  return level === 'fail'
}
