import { spawn } from 'node:child_process'
import { PACKAGE_VERSION } from '../../plugin/package-facts.ts'
import { readPageFiles } from '../../viewer/server/server.ts'
import { startView, urlOf, viewDirectory } from '../../viewer/server/start.ts'
import { TraceIndex } from '../../viewer/trace-index/trace-index.ts'
import { type Command, type CommandIo, command, EXIT } from '../command.ts'
import { portOf } from '../option-values.ts'
import { packageFile, packageFolder } from '../package-folder.ts'
import { findFile, indexSubject, traceFiles } from '../traces.ts'

export const view: Command = command({
  name: 'view',
  operand: { placeholder: '[FILE]', offers: 'files' },
  about: `Opens a live dashboard of every agent: running turns, pending approvals, failures and cost, and every turn as a waterfall
with its prompts, tool calls and answers. Shows the local trace log, or FILE (OTLP/JSON lines, or a directory of *.jsonl).

It listens on 127.0.0.1 and requires the token in its address. It only reads, and sends no requests to other machines.`,
  options: {
    port: { value: 'N', help: 'port to listen on (default: any free one)' },
    open: { short: 'o', aka: ['browser'], help: 'also open the page in the browser' },
  },
  closing: `Only one viewer of the trace log runs at a time: a second call prints its address. Ctrl-C ends it. Exits with 1 if FILE is
not a trace log, or the port is in use.`,
  async run({ values, operands }, io) {
    const port = portOf(values.port)
    const place = await findFile(operands, io)
    if (place.kind !== 'local log') await traceFiles([place.path])
    const { kind, path } = place
    const subject = indexSubject(place, io)
    // Before the address is printed: its reader may end the viewer at once.
    const stopped = Promise.race([io.interrupted(), io.hungUp()])
    const started = await startView({
      directory: kind === 'local log' ? viewDirectory(io.env, io.home) : undefined,
      port,
      page: readPageFiles(packageFile(packageFolder(), 'dist', 'page')),
      version: PACKAGE_VERSION,
      openSource: () => TraceIndex.open({ subject }),
      showUrl: url => {
        if (values.open) openInBrowser(url, io)
        io.stdout.write(`The viewer shows ${path}:\n\n  ${url}\n\nCtrl-C ends it.\n`)
      },
      now: io.now,
      say: line => io.stderr.write(`hookspan view: ${line}\n`),
    })
    if ('already' in started) {
      const url = urlOf(started.already)
      if (values.open) openInBrowser(url, io)
      io.stdout.write(`The viewer is already running (pid ${started.already.pid}):\n\n  ${url}\n`)
      return EXIT.ok
    }
    await stopped
    await started.close()
    return EXIT.ok
  },
})

/** The program that opens a URL. On Windows not `start`, because the shell would interpret the URL. */
const OPENERS: Readonly<Record<string, string>> = { darwin: 'open', win32: 'rundll32 url.dll,FileProtocolHandler' }

/** Opens a URL. If that fails, for example in a container or over SSH, prints a hint; the URL can still be copied. */
function openInBrowser(url: string, { stderr, env }: Pick<CommandIo, 'stderr' | 'env'>): void {
  const [program = '', ...args] = (OPENERS[process.platform] ?? 'xdg-open').split(' ')
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, env })
  child.once('error', () => stderr.write(`hookspan view: ${program} could not be started; open the address yourself\n`))
  child.unref()
}
