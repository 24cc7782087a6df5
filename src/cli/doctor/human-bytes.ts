const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** `512 B`, `1.2 MB`, `34 GB`; a KB is 1024 bytes, as where `local_log_max_bytes` is reckoned in MiB. */
export function humanBytes(bytes: number): string {
  let [amount, unit] = [Math.max(0, bytes), 0]
  while (amount >= 999.5 && unit < UNITS.length - 1) [amount, unit] = [amount / 1024, unit + 1]
  const shown = unit === 0 || amount >= 9.95 ? String(Math.round(amount)) : amount.toFixed(1)
  return `${shown} ${UNITS[unit]}`
}
