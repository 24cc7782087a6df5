/** `412 ms`, `2.3 s`, `4 m 05 s`, `1 h 02 m`, `3 d 04 h`: at most two units, for display only. */
export function humanDuration(millis: number): string {
  if (!Number.isFinite(millis)) return '?'
  if (millis < 0) return `-${humanDuration(-millis)}`
  if (millis < 9.95) return `${millis.toFixed(1).replace(/\.0$/, '')} ms`
  if (millis < 999.5) return `${Math.round(millis)} ms`
  // Rounded to whole milliseconds first: the difference of two large floats is 2449.9998 and must not read shorter than 2450.
  if (millis < 59_950) return `${(Math.round(millis) / 1000).toFixed(1)} s`
  const seconds = Math.round(millis / 1000)
  if (seconds < 3_600) return twoUnits(seconds, 60, 'm', 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return twoUnits(minutes, 60, 'h', 'm')
  return twoUnits(Math.round(minutes / 60), 24, 'd', 'h')
}

/** A duration in whole seconds: a figure that changes ten times a second is unreadable. */
export function humanAge(millis: number): string {
  const whole = Math.floor(Math.max(0, millis) / 1000) * 1000
  return whole < 60_000 ? `${whole / 1000} s` : humanDuration(whole)
}

function twoUnits(amount: number, perUnit: number, unit: string, rest: string): string {
  return `${Math.floor(amount / perUnit)} ${unit} ${String(amount % perUnit).padStart(2, '0')} ${rest}`
}

export function humanCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ' ')
}

export function humanCost(dollars: number): string {
  if (dollars === 0) return '$0'
  if (dollars < 0.00005) return '<$0.0001'
  if (dollars < 0.99995) return `$${dollars.toFixed(4)}`
  const [whole = '', cents = ''] = dollars.toFixed(2).split('.')
  return `$${humanCount(Number(whole))}.${cents}`
}

export function countOf(count: number, noun: string): string {
  return `${humanCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** `2026-11-21 11:15:00 +01:00`, in the zone of this machine, or `… UTC`. Empty for a time that no date can hold. */
export function humanInstant(at: number): string {
  const offset = -new Date(at).getTimezoneOffset()
  const local = new Date(at + offset * 60_000)
  if (Number.isNaN(local.getTime())) return ''
  return `${local.toISOString().slice(0, 19).replace('T', ' ')} ${zoneText(offset)}`
}

function zoneText(minutes: number): string {
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `${minutes < 0 ? '-' : '+'}${[hours, rest].map(part => String(part).padStart(2, '0')).join(':')}`
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** `512 B`, `1.2 MB`, `34 GB`. A KB is 1024 bytes, as `local_log_max_bytes` counts in MiB. */
export function humanBytes(bytes: number): string {
  let [amount, unit] = [Math.max(0, bytes), 0]
  while (amount >= 999.5 && unit < UNITS.length - 1) [amount, unit] = [amount / 1024, unit + 1]
  const shown = unit === 0 || amount >= 9.95 ? String(Math.round(amount)) : amount.toFixed(1)
  return `${shown} ${UNITS[unit]}`
}
