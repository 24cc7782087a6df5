/** `note`: good to know; `warn`: it works, but somebody should look; `fail`: something is wrong, and the exit code says so. */
export type Level = 'ok' | 'note' | 'warn' | 'fail'

/** Parts of the report, in its order. */
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

/** One thing that was looked at. No secret is in it. */
export interface Finding {
  readonly level: Level
  readonly area: Area
  readonly what: string
  /** What to do about it. */
  readonly remedy?: string
}

export function finding(level: Level, area: Area, what: string, remedy?: string): Finding {
  return { level, area, what, ...(remedy === undefined ? {} : { remedy }) }
}

export function isWrong({ level }: Finding): boolean {
  return level === 'fail'
}
