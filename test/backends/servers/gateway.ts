import { fileURLToPath } from 'node:url'
import { tlsFile } from '../../support/tls/files.ts'
import { freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { startServer } from '../support/server-process.ts'

const CONFIG = fileURLToPath(new URL('../../../observability/collector-gateway.yaml', import.meta.url))

/** A Collector that can be started again where it was: its addresses and its queue stay. */
export interface Gateway {
  /** The `endpoint` of a backend. */
  readonly otlpUrl: string
  readonly log: string
  /** As `kill -9` does. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** The configuration for many machines as it is shipped; what differs comes from the environment, as a user's would. */
export async function startGateway(store: string, queue: string): Promise<Gateway> {
  const [http = 0, health = 0] = await freePorts(2)
  const launch = (): ReturnType<typeof startServer> =>
    startServer({
      program: installedPath('collector'),
      args: [`--config=${CONFIG}`],
      env: {
        // They would be served on a fixed port, which another collector may have.
        GATEWAY_OWN_METRICS: 'none',
        GATEWAY_STORE: store,
        GATEWAY_QUEUE: queue,
        GATEWAY_LISTEN: `127.0.0.1:${http}`,
        GATEWAY_HEALTH: `127.0.0.1:${health}`,
        GATEWAY_CERTIFICATE: tlsFile('server.pem'),
        GATEWAY_KEY: tlsFile('server.key'),
        GATEWAY_CLIENT_AUTHORITY: tlsFile('authority.pem'),
      },
      readyUrl: `http://127.0.0.1:${health}/`,
    })
  let server = await launch()
  return {
    otlpUrl: `https://127.0.0.1:${http}`,
    get log() {
      return server.log
    },
    kill: () => server.kill(),
    async start() {
      server = await launch()
    },
    stop: () => server.stop(),
  }
}
