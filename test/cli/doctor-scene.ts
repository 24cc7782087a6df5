import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { doctor as doctorCommand } from '../../src/cli/commands/doctor.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { put } from '../plugin/config/scratch-home.ts'
import { OtlpSink, type SinkBehaviour } from '../support/otlp-sink.ts'
import { TraceServer } from './doctor-server.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'

const { run } = doctorCommand

export interface Diagnosis {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** `hookspan doctor` within this process, in a home directory of its own, and servers that go when it goes. */
export class DoctorScene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-doctor-'))
  readonly state: string = join(this.home, '.local', 'state', 'hookspan')
  readonly #running: { stop(): Promise<void> }[] = []

  async doctor(args: string[] = [], given: FakeProcess = {}): Promise<Diagnosis> {
    const io = fakeIo({ home: this.home, ...given })
    return { code: await run(args, io), ...io.written }
  }

  /** Configured, as a person would. */
  configure(yaml: string): void {
    put(this.home, '.config/hookspan/config.yaml', yaml)
  }

  put(path: string, text: string, mode?: number): string {
    return put(this.home, path, text, mode)
  }

  /** Codex with a hook of ours. */
  setUpCodex(): void {
    const command = '/bin/sh /opt/hookspan/dist/hook.sh /usr/bin/node codex'
    const file = { hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } }
    mkdirSync(join(this.home, '.codex'))
    this.put('.codex/hooks.json', JSON.stringify(file))
  }

  /** A turn of an agent, which ended five minutes ago. */
  async recordTurn(host: string): Promise<void> {
    const at = fakeIo().now() - 300_000
    const diagnostics = { warn: () => undefined, error: () => undefined, debug: () => undefined }
    const plugin = createPluginIn({ host }, { env: {}, home: this.home, isReplay: true, diagnostics })
    plugin.emit('pre_llm_call', { session_id: 's1', turn_id: 't1', user_message: 'Hi' }, { at: at - 1000 })
    plugin.emit('on_session_end', { session_id: 's1', turn_id: 't1', completed: true }, { at })
    await plugin.shutdown()
  }

  async traceServer(...where: Parameters<typeof TraceServer.start>): Promise<TraceServer> {
    return this.uses(await TraceServer.start(...where))
  }

  async otlpSink(behaviour?: SinkBehaviour): Promise<OtlpSink> {
    return this.uses(await OtlpSink.start(behaviour))
  }

  /** Where nothing listens. */
  async deadUrl(): Promise<string> {
    const sink = await OtlpSink.start()
    const { url } = sink
    await sink.stop()
    return url
  }

  uses<Running extends { stop(): Promise<void> }>(server: Running): Running {
    this.#running.push(server)
    return server
  }

  async remove(): Promise<void> {
    rmSync(this.home, { recursive: true, force: true })
    await Promise.all(this.#running.splice(0).map(server => server.stop()))
  }
}

/** The lines of one level, without their mark. */
export function linesOf({ stdout }: Pick<Diagnosis, 'stdout'>, level: 'ok' | 'note' | 'warn' | 'fail'): string[] {
  const mark = `  ${level.padEnd(6)}`
  return stdout.split('\n').flatMap(line => (line.startsWith(mark) ? [line.slice(mark.length)] : []))
}

/** Where the probes are to be found, which is said once when one has arrived. */
export const PROBE_HINT =
  '  note  look for service hookspan-doctor, span hookspan.doctor there; its attributes name the time and machine of sending'

/** The lines under one heading, without that of the probes. */
export function section({ stdout }: Pick<Diagnosis, 'stdout'>, heading: string): string[] {
  const lines = stdout.split('\n')
  const from = lines.indexOf(heading) + 1
  return lines.slice(from, lines.indexOf('', from)).filter(line => line !== PROBE_HINT)
}
