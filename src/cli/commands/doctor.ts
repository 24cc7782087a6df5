import { type Command, type CommandIo, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { type ExaminationOptions, examine } from '../doctor/examination.ts'
import { isWrong } from '../doctor/finding.ts'
import { reportJson, reportText } from '../doctor/report.ts'
import { BACKEND_OPTION, checkBackends } from '../option-values.ts'
import type { Given } from '../options.ts'
import { lookOf, Progress } from '../terminal.ts'

/** A timer that keeps the process alive, because requests of the pipeline do not. */
const LONG_MILLIS = 60_000

const PAGE = {
  name: 'doctor',
  about: `Checks that traces arrive, and says what to do where they do not. Sends one span named hookspan.doctor, of the
service hookspan-doctor, to each configured backend, and one point of the counter hookspan.doctor.probes where it takes metrics, then asks for
the span again where the backend has an API for that. Also looks at the configuration, the trace log, its
backlog and losses, clocks, proxy variables and Node.`,
  options: {
    offline: { help: 'send nothing: only look at this machine' },
    wait: { value: 'MS', default: '5000', help: 'how long a backend may take to show the span' },
    backend: { ...BACKEND_OPTION, help: 'probe this backend instead of the configured ones' },
    json: {
      help: 'one JSON object: {"ok", "version", "node", "config", "backends", "backlog", "unjudged", "losses", "findings"}',
    },
  },
  closing: 'Exits with 1 when something is wrong; warnings alone are no reason to.',
} as const satisfies CommandPage

/** Exit code: 1 if something is wrong. */
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

function readOptions({ offline, wait, backend }: Given<typeof PAGE.options>['values']): ExaminationOptions {
  if (!/^\d{1,7}$/.test(wait)) throw new WrongUse(`--wait takes milliseconds, got ${JSON.stringify(wait)}`)
  return { isOffline: offline, waitMillis: Number(wait), backends: checkBackends(backend) }
}

async function watched(options: ExaminationOptions, io: CommandIo): ReturnType<typeof examine> {
  const progress = new Progress(io)
  if (!options.isOffline) progress.say('probing …')
  try {
    return await examine(options, io)
  } finally {
    progress.end()
  }
}
