/** True if the first version is later: `0.10.0` than `0.9.0`, `1.0.0` than `1.0.0-beta.2`. An invalid version never is. */
export function isNewer(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)]
  if (a === undefined || b === undefined) return false
  for (const [index, number] of a.numbers.entries()) {
    if (number !== b.numbers[index]) return number > (b.numbers[index] ?? 0)
  }
  if (a.before === undefined || b.before === undefined) return a.before === undefined && b.before !== undefined
  return a.before.localeCompare(b.before, 'en', { numeric: true }) > 0
}

function partsOf(version: string): { numbers: number[]; before: string | undefined } | undefined {
  const [match, numbers = '', before] = /^(\d{1,9}\.\d{1,9}\.\d{1,9})(?:-([\w.-]{1,60}))?(?:\+.*)?$/.exec(version) ?? []
  return match === undefined ? undefined : { numbers: numbers.split('.').map(Number), before }
}
