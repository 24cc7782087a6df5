import { humanDuration } from '../../viewer/human-figures.ts'
import type { ClockSkew } from './answer-dates.ts'
import { type Finding, finding } from './finding.ts'

const MOST_MILLIS = 30_000
const REMEDY = 'set the one that is wrong, best by NTP (on Linux: timedatectl set-ntp true)'

/** Whether servers agree with this machine about the time. Nothing where none of them told it. */
export function checkClocks(skews: readonly ClockSkew[]): readonly Finding[] {
  const wrong = skews.filter(({ millis }) => Math.abs(millis) > MOST_MILLIS)
  if (wrong.length > 0) return wrong.map(skewFinding)
  if (skews.length === 0) return []
  const hosts = skews.map(({ host }) => host).join(', ')
  const what = `${hosts}: within ${MOST_MILLIS / 1000} s of this machine`
  return [finding('ok', 'Clocks', what)]
}

function skewFinding({ host, millis }: ClockSkew): Finding {
  const [side, place] = millis > 0 ? ['ahead of', 'past'] : ['behind', 'future']
  const what = `the clock of ${host} is ${humanDuration(Math.abs(millis))} ${side} this machine's: spans show up in its ${place}, or not at all`
  return finding('warn', 'Clocks', what, REMEDY)
}
