import { compareTraces } from '../../reading/compare-traces.ts'
import { comparisonJson } from '../../reading/comparison-json.ts'
import { renderComparison } from '../../reading/comparison-text.ts'
import { type Command, type CommandPage, command, EXIT } from '../command.ts'
import { findSides, readSide } from '../diff-sides.ts'
import { lookOf } from '../look.ts'

const PAGE = {
  name: 'diff',
  operand: { placeholder: '[FILE] A B', offers: 'files' },
  about: `Puts two turns or two sessions side by side: which requests, tools and arguments differ, and what each took and used. A and
B are the beginnings of trace ids, or session ids, of the local trace log, or of FILE (OTLP/JSON lines, or a directory of
*.jsonl). One that is a file itself stands for all that is in it.

Steps are put beside each other by order, name and arguments, whatever the agents and models: a request with its retries is
one step, and where tools have other names they are found by what they were told. The time is without what was waited for a
person.`,
  options: {
    json: { help: 'one JSON object: both sums, and every step with what differs in it' },
  },
  closing:
    'Exits with 1 when A or B is not there, or does not name one turn or session. That they differ is no failure.',
} as const satisfies CommandPage

/** Exit code: 0 even if they differ. */
export const diff: Command = command(PAGE, async ({ values, operands }, io) => {
  const [sideA, sideB] = await findSides(operands, io)
  const a = await readSide(sideA, io)
  if ('exitCode' in a) return a.exitCode
  const b = await readSide(sideB, io)
  if ('exitCode' in b) return b.exitCode
  const comparison = compareTraces(a, b)
  io.stdout.write(values.json ? `${comparisonJson(comparison)}\n` : `${renderComparison(comparison, lookOf(io))}\n`)
  return EXIT.ok
})
