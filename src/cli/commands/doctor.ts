import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import { displayText } from '../../reading/display-text.ts'
import { countOf } from '../../reading/human-figures.ts'
import { paintLine, segment, type TextSegment, type Tone } from '../../reading/segments.ts'
import { isoInstant } from '../../reading/tree-json.ts'
import { type Command, command, EXIT, WrongUse } from '../command.ts'
import type { Area, DoctorFinding, Examination, Level } from '../doctor/examination.ts'
import { AREAS, examine } from '../doctor/examination.ts'
import type { ProbeResult } from '../doctor/probe.ts'
import { BACKEND_OPTION, checkBackends } from '../option-values.ts'
import { lookOf, Progress } from '../terminal.ts'

const TONES: Readonly<Record<Level, Tone>> = { ok: 'ok', note: 'dim', warn: 'warn', fail: 'error' }
const MARK_WIDTH = 6
const MAX_VALUE = 60

function reportText(examination: Examination, color: boolean): string {
  const lines: TextSegment[][] = [[segment('strong', `hookspan ${PACKAGE_VERSION}`)]]
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
  const valueWidth = Math.min(MAX_VALUE, Math.max(...values.map(({ value }) => displayText(value).length)))
  return values.map(({ key, value, source }) => [
    segment('plain', `  ${''.padEnd(MARK_WIDTH)}${key.padEnd(keyWidth)}  ${displayText(value).padEnd(valueWidth)}  `),
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
  const hasAgent = agents.some(({ isSetUp, lastSeenAt }) => isSetUp || lastSeenAt !== undefined)
  if (hasAgent) return segment('ok', 'No problems found.')
  return segment('warn', 'No problems found, but no agent is set up: run "npx hookspan init".')
}

/** The report as one line of JSON; docs/commands.md documents its fields. */
function reportJson(examination: Examination, ok: boolean): string {
  const { agents, config, backends, backlog, unjudged, losses, findings } = examination
  return JSON.stringify({
    ok,
    version: PACKAGE_VERSION,
    node: process.versions.node,
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

/** A timer that keeps the process alive, because requests of the pipeline do not. */
const LONG_MILLIS = 60_000

export const doctor: Command = command({
  name: 'doctor',
  about: `Checks that traces arrive, and prints how to fix what does not work. Sends a span named hookspan.doctor, of the
service hookspan-doctor, to each configured backend, and a point of the counter hookspan.doctor.probes if it receives
metrics. Then reads the span back, if the backend has an API for that. Also checks the agents, the configuration, the trace log, pending
and dropped data, clocks, proxy variables and Node.`,
  options: {
    offline: { help: 'send nothing; check only this machine' },
    wait: { value: 'MS', default: '5000', help: 'time limit for a backend to show the span' },
    backend: { ...BACKEND_OPTION, help: 'probe this backend instead of the configured ones' },
    json: {
      help: 'one JSON object: {"ok", "version", "node", "agents", "config", "backends", "backlog", "unjudged", "losses", "findings"}',
    },
  },
  closing: 'Exits with 1 if something is wrong. Warnings alone do not change the exit code.',
  async run({ values }, io) {
    const { wait, backend, offline: isOffline } = values
    if (!/^\d{1,7}$/.test(wait)) throw new WrongUse(`--wait takes milliseconds, got ${JSON.stringify(wait)}`)
    const options = { isOffline, waitMillis: Number(wait) }
    const named = checkBackends(backend)
    const progress = new Progress(io)
    const alive = setInterval(() => undefined, LONG_MILLIS)
    try {
      if (!isOffline) progress.showStep('probing …')
      const examination = await examine(options, named, io)
      progress.end()
      const isGood = examination.findings.every(({ level }) => level !== 'fail')
      io.stdout.write(values.json ? `${reportJson(examination, isGood)}\n` : reportText(examination, lookOf(io).color))
      return isGood ? EXIT.ok : EXIT.failed
    } finally {
      progress.end()
      clearInterval(alive)
    }
  },
})
