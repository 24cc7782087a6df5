/** `note`: information; `warn`: works, but needs attention; `fail`: broken, and the exit code is 1. */
export type Level = 'ok' | 'note' | 'warn' | 'fail'

export const AREAS = [
  'Node',
  'Agents',
  'Configuration',
  'Trace log',
  'Backends',
  'Clocks',
  'Proxies',
  'Pending delivery',
  'Dropped spans',
] as const

export type Area = (typeof AREAS)[number]

export interface DoctorFinding {
  readonly level: Level
  readonly area: Area
  readonly what: string
  readonly remedy?: string
}

export function finding(level: Level, area: Area, what: string, remedy?: string): DoctorFinding {
  return { level, area, what, ...(remedy === undefined ? {} : { remedy }) }
}

export function isWrong({ level }: DoctorFinding): boolean {
  return level === 'fail'
}
