import { countOf, humanInstant } from '../../reading/human-figures.ts'
import { jsonLine } from '../../reading/tree-json.ts'
import { renderUsage, usageMeasure, usageSentence } from '../../reading/usage-text.ts'
import type { Usage, UsageGroup } from '../../viewer/trace-index/answers.ts'
import { LocalIndex } from '../../viewer/trace-index/local-index.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse } from '../command.ts'
import { sinceAt } from '../option-values.ts'
import { lookOf } from '../terminal.ts'
import { expectTraceFiles, findFile, indexSubject, nothingThere, readWatched, type TracesPlace } from '../traces.ts'

const GROUPS = ['day', 'agent', 'model', 'project', 'session'] as const satisfies readonly UsageGroup[]

export const usage: Command = command({
  name: 'usage',
  operand: { placeholder: '[FILE]', offers: 'files' },
  about: `Sums up cost, tokens, requests and failures of this week, or since another time: by local day, agent, model,
project or session. Reads the local trace log, or FILE (OTLP/JSON lines, or a directory of *.jsonl).

Requests that were recorded without a cost are priced by your prices and the bundled list, unless "prices" is false.`,
  options: {
    by: { value: 'GROUP', offers: GROUPS, help: `${GROUPS.join(', ')} (default day). Of sessions, the heaviest ten` },
    since: {
      value: 'WHEN',
      aka: ['after', 'from'],
      help: 'an age (2h, 7d, 4w) or a time (2026-11-22), UTC unless it has a zone (default: the last seven local days)',
    },
    json: { help: 'one JSON object per group and line, all sessions included' },
  },
  closing: 'Exits with 1 if FILE is not a trace log.',
  async run({ values, operands }, io) {
    const by = GROUPS.find(group => group === (values.by ?? 'day'))
    if (by === undefined) throw new WrongUse(`--by takes ${GROUPS.join(', ')}, got ${JSON.stringify(values.by)}`)
    const now = io.now()
    const since = values.since === undefined ? weekStart(now) : sinceAt(values.since, now)
    const place = await findFile(operands, io)
    const found = await readUsage(place, by, since, io)
    if (found === undefined) {
      io.stderr.write(`${nothingThere(place)}\n`)
      return EXIT.ok
    }
    const { groups, sessions, total, before } = found
    if (values.json) {
      for (const { name, title, ...row } of groups) io.stdout.write(`${jsonLine({ [by]: name, ...row })}\n`)
      return EXIT.ok
    }
    const sinceText = `since ${humanInstant(since).slice(0, '2026-11-21 11:15'.length)}`
    if (total.turnCount + total.requestCount === 0) {
      io.stdout.write(`No turns ${sinceText}.\n`)
      return EXIT.ok
    }
    const period = values.since === undefined ? 'this week' : sinceText
    io.stdout.write(`${usageSentence(total, before, period)}; ${countOf(total.turnCount, 'turn')}\n\n`)
    const rows = by === 'session' ? sessions : groups
    for (const line of renderUsage(rows, usageMeasure(total), lookOf(io))) io.stdout.write(`${line}\n`)
    return EXIT.ok
  },
})

function weekStart(now: number): number {
  const date = new Date(now)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - 6).getTime()
}

async function readUsage(place: TracesPlace, by: UsageGroup, since: number, io: CommandIo): Promise<Usage | undefined> {
  return readWatched(
    await place.listFiles(),
    async onRead => {
      const index = new LocalIndex(indexSubject(place, io), undefined, io.now)
      let done = 0
      for (let step = await index.step(); step !== undefined; step = await index.step()) {
        const { indexedBytes } = index.status()
        onRead(indexedBytes - done)
        done = indexedBytes
      }
      const { traceCount, unreadableCount, failure } = index.status()
      if (failure !== undefined) throw new Error(failure)
      if (traceCount === 0) {
        await expectTraceFiles(place, unreadableCount)
        return undefined
      }
      return (await index.query('usage', { by, sinceAt: since } as never)) as Usage
    },
    io,
  )
}
