import { displayText } from '../../reading/display-text.ts'
import { countOf } from '../../reading/human-figures.ts'
import { paintLine, segment, type TextSegment, type Tone } from '../../reading/segments.ts'
import { isoInstant } from '../../reading/tree-json.ts'
import { hasAgent } from './check-agents.ts'
import type { Examination } from './examination.ts'
import { AREAS, type Area, type DoctorFinding, isWrong, type Level } from './finding.ts'
import type { ProbeResult } from './probe.ts'

const TONES: Readonly<Record<Level, Tone>> = { ok: 'ok', note: 'dim', warn: 'warn', fail: 'error' }
const MARK_WIDTH = 6
const MAX_VALUE = 60

export function reportText(examination: Examination, color: boolean): string {
  const { version } = examination
  const lines: TextSegment[][] = [[segment('strong', `hookspan ${version}`)]]
  for (const area of AREAS) lines.push(...section(area, examination))
  lines.push([], [summary(examination)])
  return `${lines.map(line => paintLine(line, color)).join('\n')}\n`
}

function section(area: Area, { findings, config }: Examination): TextSegment[][] {
  const found = findings.filter(finding => finding.area === area).map(findingLine)
  if (found.length === 0) return []
  const table = area === 'Configuration' ? valueLines(config.values) : []
  return [[], [segment('strong', area)], ...found, ...table]
}

function findingLine({ level, what, remedy }: DoctorFinding): TextSegment[] {
  const advice = remedy === undefined ? [] : [segment('dim', ' → '), segment('plain', displayText(remedy))]
  return [segment(TONES[level], `  ${level.padEnd(MARK_WIDTH)}`), segment('plain', displayText(what)), ...advice]
}

function valueLines(values: Examination['config']['values']): TextSegment[][] {
  const keyWidth = Math.max(...values.map(({ key }) => key.length))
  const shown = values.map(({ value }) => displayText(value))
  const valueWidth = Math.min(MAX_VALUE, Math.max(...shown.map(value => value.length)))
  return values.map(({ key, source }, index) => [
    segment('plain', `  ${''.padEnd(MARK_WIDTH)}${key.padEnd(keyWidth)}  ${(shown[index] ?? '').padEnd(valueWidth)}  `),
    segment('dim', displayText(source)),
  ])
}

function summary({ findings, agents }: Examination): TextSegment {
  const count = (level: Level): number => findings.filter(finding => finding.level === level).length
  const [wrong, warnings] = [count('fail'), count('warn')]
  if (wrong > 0) {
    const also = warnings === 0 ? '' : `, and ${countOf(warnings, 'warning')}`
    return segment('error', `${countOf(wrong, 'error')}${also}.`)
  }
  if (warnings > 0) return segment('warn', `No errors; ${countOf(warnings, 'warning')}.`)
  if (hasAgent(agents)) return segment('ok', 'No problems found.')
  return segment('warn', 'No problems found, but no agent is set up: run "npx hookspan init".')
}

/** The report as one line of JSON; docs/commands.md documents its fields. */
export function reportJson(examination: Examination): string {
  const { version, node, agents, config, backends, backlog, unjudged, losses, findings } = examination
  return JSON.stringify({
    ok: !findings.some(isWrong),
    version,
    node,
    agents: agents.map(({ name, sign, isSetUp, problem, lastSeenAt }) => ({
      host: name,
      found: sign ?? null,
      setUp: isSetUp,
      lastSeen: lastSeenAt === undefined ? null : isoInstant(lastSeenAt),
      ...(problem !== undefined && { problem }),
    })),
    config: { file: config.file ?? null, values: config.values, problems: config.problems },
    backends: backends.map(backendJson),
    backlog,
    unjudged: unjudged.map(({ destinations, ...rest }) => ({ backends: [...destinations.keys()], ...rest })),
    losses,
    findings,
  })
}

function backendJson({ name, type, url, delivered, metrics, readBack, millis, problems }: ProbeResult): object {
  return {
    name,
    type,
    url: url ?? null,
    delivered,
    metrics,
    readBack: readBack === null ? null : readBack.kind === 'found',
    millis,
    problem: problems.length === 0 ? null : problems.map(({ line }) => line).join('; '),
  }
}
