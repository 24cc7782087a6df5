import { humanDuration } from '../../reading/human-figures.ts'
import { type DoctorFinding, finding, type Level } from './finding.ts'
import type { ProbeOptions, ProbeResult } from './probe.ts'
import { PROBE_SERVICE, PROBE_SPAN } from './probe.ts'

const LOOK = `look for service ${PROBE_SERVICE}, span ${PROBE_SPAN} there`
const PROBE = `${LOOK}; its attributes name the time and machine of sending`

export function checkBackends(results: readonly ProbeResult[], options: ProbeOptions): readonly DoctorFinding[] {
  if (results.length === 0) return [finding('ok', 'Backends', 'none is configured: nothing leaves this machine')]
  const probed = results.some(({ delivered }) => delivered === true) ? [finding('note', 'Backends', PROBE)] : []
  const findings = results.flatMap(result => [
    ...outcomeFindings(result, options),
    ...result.problems.map(({ what, remedy }) => finding('fail', 'Backends', what, remedy)),
    ...result.warnings.map(({ what, remedy }) => finding('warn', 'Backends', what, remedy)),
  ])
  return [...findings, ...probed]
}

/** Returns nothing if the problems already explain the outcome. */
function outcomeFindings(result: ProbeResult, { isOffline, waitMillis }: ProbeOptions): DoctorFinding[] {
  const { name, type, url, isSentLogs, delivered, metrics, problems } = result
  const say = (level: Level, what: string, remedy?: string): DoctorFinding[] => [
    finding(level, 'Backends', `${name}${url === undefined ? '' : ` ${url}`}: ${what}`, remedy),
  ]
  if (type === 'console') return say('ok', 'prints to the terminal of the agent')
  if (delivered === true) return say(...deliveredWords(result, waitMillis))
  if (problems.length > 0) return []
  if (metrics === true) return say('ok', 'a metric was delivered; it receives no traces')
  if (isOffline) return say('note', 'not tried')
  return say(
    'note',
    isSentLogs ? 'it receives only log events, which are not probed' : 'it receives neither traces nor metrics',
  )
}

type Words = readonly [level: Level, what: string, remedy?: string]

function deliveredWords({ readBack, readBackUrl, metrics, millis, type }: ProbeResult, waitMillis: number): Words {
  const also = metrics === true ? ', and so was a metric' : ''
  const taken = humanDuration(millis ?? 0)
  const done = `delivered in ${taken}${also}`
  const wait = humanDuration(waitMillis)
  switch (readBack?.kind) {
    case undefined:
      return ['ok', `${done}; ${type} has no API for reading it back`]
    case 'found':
      return ['ok', `delivered and read back in ${taken}${also}`]
    case 'missing':
      return [
        'warn',
        `${done}, but ${readBackUrl} has not shown it within ${wait}${readBack.status === undefined ? '' : ` (it answers ${readBack.status})`}`,
        `some servers take longer: try --wait 30000, or ${LOOK}`,
      ]
    case 'refused':
      return [
        'warn',
        `${done}, but ${readBackUrl} answered the query with ${readBack.status}`,
        `check that its key has read access, or ${LOOK}`,
      ]
    case 'unreachable':
      return ['note', `${done}; not read back: ${readBackUrl} is not reachable (${readBack.code})`, LOOK]
    case 'page':
      return ['note', `${done}; not read back: ${readBackUrl} is a web page, not the API of ${type}`, LOOK]
  }
}
