import { fileURLToPath } from 'node:url'
import { expectFree, freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { startServer } from '../support/server-process.ts'

const CONFIG = fileURLToPath(new URL('jaeger.yaml', import.meta.url))

const UI_PORT = 16686
const OTLP_PORT = 4318

export interface Jaeger {
  /** Of its page and its query API. */
  readonly url: string
  /** Of its OTLP receiver, without the path of a signal. */
  readonly otlpUrl: string
  readonly log: string
  stop(): Promise<void>
}

export interface JaegerOptions {
  /**
   * The ports that a user's Jaeger has, which are those that our programs look at: on 127.0.0.1, where they may well be
   * taken, or on a loopback address of its own.
   */
  readonly usualPorts?: 'on 127.0.0.1' | 'on its own address'
}

/** A real Jaeger, with nothing in its memory. */
export async function startJaeger({ usualPorts }: JaegerOptions = {}): Promise<Jaeger> {
  const host = usualPorts === 'on its own address' ? ownLoopback() : '127.0.0.1'
  if (usualPorts === 'on 127.0.0.1') await expectFree([UI_PORT, OTLP_PORT])
  const [freeQuery, freeOtlp, grpcPort, healthPort] = await freePorts(4)
  const query = `${host}:${usualPorts ? UI_PORT : freeQuery}`
  const otlp = `${host}:${usualPorts ? OTLP_PORT : freeOtlp}`
  const health = `127.0.0.1:${healthPort}`
  const server = await startServer({
    program: installedPath('jaeger'),
    args: ['--config', CONFIG],
    env: {
      JAEGER_QUERY: query,
      JAEGER_QUERY_GRPC: `127.0.0.1:${grpcPort}`,
      JAEGER_OTLP: otlp,
      JAEGER_HEALTH: health,
      JAEGER_UI: installedPath('jaeger', 'ui'),
    },
    // It says that it is well only after all of its parts have started.
    readyUrl: `http://${health}/status`,
    // It waits long for connections that are only kept open, and has nothing to save.
    graceMillis: 500,
  })
  return {
    url: `http://${query}`,
    otlpUrl: `http://${otlp}`,
    get log(): string {
      return server.log
    },
    stop: () => server.stop(),
  }
}

/** Linux has all of 127/8; elsewhere only the first address is there without asking for it. */
function ownLoopback(): string {
  if (process.platform !== 'linux') return '127.0.0.1'
  // Two runs at once are two processes.
  return `127.77.${(process.pid >> 8) & 255}.${1 + (process.pid % 254)}`
}
