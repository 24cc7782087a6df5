import { type Command, type CommandIo, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { type ExaminationOptions, examine } from '../doctor/examination.ts'
import { isWrong } from '../doctor/finding.ts'
import { reportJson, reportText } from '../doctor/report.ts'
import { BACKEND_OPTION, checkBackends } from '../option-values.ts'
import type { CommandArguments } from '../options.ts'
import { lookOf, Progress } from '../terminal.ts'

/** A timer that keeps the process alive, because requests of the pipeline do not. */
const LONG_MILLIS = 60_000

const PAGE = {
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
} as const satisfies CommandPage

export const doctor: Command = command(PAGE, async ({ values }, io) => {
  const options = readOptions(values)
  const alive = setInterval(() => undefined, LONG_MILLIS)
  try {
    const examination = await watched(options, io)
    const report = values.json ? `${reportJson(examination)}\n` : reportText(examination, lookOf(io).color)
    io.stdout.write(report)
    return examination.findings.some(isWrong) ? EXIT.failed : EXIT.ok
  } finally {
    clearInterval(alive)
  }
})

function readOptions({ offline, wait, backend }: CommandArguments<typeof PAGE.options>['values']): ExaminationOptions {
  if (!/^\d{1,7}$/.test(wait)) throw new WrongUse(`--wait takes milliseconds, got ${JSON.stringify(wait)}`)
  return { isOffline: offline, waitMillis: Number(wait), backends: checkBackends(backend) }
}

async function watched(options: ExaminationOptions, io: CommandIo): ReturnType<typeof examine> {
  const progress = new Progress(io)
  if (!options.isOffline) progress.showStep('probing …')
  try {
    return await examine(options, io)
  } finally {
    progress.end()
  }
}
