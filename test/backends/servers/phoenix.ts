import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from '../../observability/stack-files.ts'
import { expectFree, freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { startServer } from '../support/server-process.ts'

/** It loads some thousand Python modules, on a machine that others use as well. */
export const START_MILLIS = 300_000

const USUAL_PORT = 6006

/** Of the server that asks who one is. They open nothing else. */
const SECRET = 'only-for-tests-on-loopback-0123456789'
const ADMIN_SECRET = 'only-for-tests-the-administrator-0123456789'

export interface Phoenix {
  /** Of its page, its APIs and its OTLP receiver, which are on one port. */
  readonly url: string
  /** Speaks for its administrator, where authentication is on. */
  readonly adminToken: string | undefined
  readonly log: string
  stop(): Promise<void>
}

export interface PhoenixOptions {
  /** Default false: everybody may read and write. */
  readonly authentication?: boolean
  /** Default false. The port that a user's Phoenix has may well be taken. */
  readonly usualPort?: boolean
}

/** A real Phoenix with an empty database, as the compose file runs it. Only the addresses and the folder are ours. */
export async function startPhoenix({ authentication = false, usualPort }: PhoenixOptions = {}): Promise<Phoenix> {
  const [freePort = 0, grpcPort = 0] = await freePorts(2)
  const port = usualPort ? USUAL_PORT : freePort
  await expectFree([port])
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-phoenix-'))
  const url = `http://127.0.0.1:${port}`
  try {
    const server = await startServer({
      program: installedPath('phoenix'),
      args: ['serve'],
      env: environmentOf({ folder, port, grpcPort, authentication }),
      cwd: folder,
      readyUrl: `${url}/healthz`,
      timeoutMillis: START_MILLIS,
    })
    return {
      url,
      adminToken: authentication ? ADMIN_SECRET : undefined,
      get log(): string {
        return server.log
      },
      async stop() {
        await server.stop()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

interface Place {
  readonly folder: string
  readonly port: number
  readonly grpcPort: number
  readonly authentication: boolean
}

function environmentOf({ folder, port, grpcPort, authentication }: Place): Record<string, string> {
  return {
    ...(compose.services['phoenix']?.environment as Record<string, string> | undefined),
    // What its first start compiles, the next ones need not.
    PYTHONDONTWRITEBYTECODE: '',
    PHOENIX_WORKING_DIR: folder,
    // Said aloud: the one of a person who runs the tests would be written to.
    PHOENIX_SQL_DATABASE_URL: `sqlite:///${join(folder, 'phoenix.db')}`,
    PHOENIX_HOST: '127.0.0.1',
    PHOENIX_PORT: String(port),
    PHOENIX_GRPC_PORT: String(grpcPort),
    PHOENIX_ENABLE_AUTH: String(authentication),
    ...(authentication ? { PHOENIX_SECRET: SECRET, PHOENIX_ADMIN_SECRET: ADMIN_SECRET } : {}),
  }
}
