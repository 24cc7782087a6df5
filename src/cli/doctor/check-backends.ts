import { humanDuration } from '../../reading/human-figures.ts'
import { type Finding, finding, type Level } from './finding.ts'
import type { ProbeOptions, ProbeResult } from './probe.ts'
import { PROBE_SERVICE, PROBE_SPAN } from './probe.ts'

const LOOK = `look for service ${PROBE_SERVICE}, span ${PROBE_SPAN} yourself`
const PROBE = `look for service ${PROBE_SERVICE}, span ${PROBE_SPAN}: it says when it was sent and from where, and is no agent's turn`

/** Reports the probes: a line for each backend and for each problem. */
export function checkBackends(results: readonly ProbeResult[], options: ProbeOptions): readonly Finding[] {
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
function outcomeFindings(result: ProbeResult, { isOffline, waitMillis }: ProbeOptions): Finding[] {
  const { name, type, url, isSentLogs, delivered, metrics, problems } = result
  const say = (level: Level, what: string, remedy?: string): Finding[] => [
    finding(level, 'Backends', `${name}${url === undefined ? '' : ` ${url}`}: ${what}`, remedy),
  ]
  if (type === 'console') return say('ok', 'prints on the terminal of the agent')
  if (delivered === true) return say(...deliveredWords(result, waitMillis))
  if (problems.length > 0) return []
  if (metrics === true) return say('ok', 'a metric was delivered; it is sent no traces')
  if (isOffline) return say('note', 'not tried')
  return say(
    'note',
    isSentLogs ? 'it is sent log events alone; those are not probed' : 'it is sent neither traces nor metrics',
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
      return ['ok', `${done}; ${type} has no API that it could be read back by`]
    case 'found':
      return ['ok', `delivered and read back in ${taken}${also}`]
    case 'missing':
      return [
        'warn',
        `${done}, but ${readBackUrl} has not shown it within ${wait}${answer(readBack.status)}`,
        `some servers take longer: try --wait 30000, or ${LOOK}`,
      ]
    case 'refused':
      return [
        'warn',
        `${done}, but ${readBackUrl} answers ${readBack.status} when asked for it`,
        `check that its key may read, too, or ${LOOK}`,
      ]
    case 'unreachable':
      return ['note', `${done}; not read back: ${readBackUrl} cannot be asked (${readBack.code})`, LOOK]
    case 'page':
      return ['note', `${done}; not read back: ${readBackUrl} is a web page and no API of ${type}`, LOOK]
  }
}

function answer(status: number | undefined): string {
  return status === undefined ? '' : ` (it answers ${status})`
}
