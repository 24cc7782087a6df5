import { afterEach } from 'vitest'
import { type ModelReply, type ModelRequest, type ModelServer, startModelServer } from '../../support/model-server.mjs'
import { tracesOf } from '../live-host.ts'
import type { PiHome } from './pi-host.ts'

const servers: ModelServer[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

export async function modelThat(answer: (request: ModelRequest) => ModelReply): Promise<ModelServer> {
  const server = await startModelServer(answer)
  servers.push(server)
  return server
}

export interface BashCall {
  readonly name: 'bash'
  readonly arguments: { readonly command: string }
  readonly id: string
}

export function bash(command: string, id: string): BashCall {
  return { name: 'bash', arguments: { command }, id }
}

/** Calls these tools once, then says that it is done. */
export function calls(...toolCalls: readonly BashCall[]): (request: ModelRequest) => ModelReply {
  return ({ toolResults }) => (toolResults === 0 ? { toolCalls } : { text: 'Done.' })
}

/** All traces of a home, a blank line between two. */
export async function treeOf({ home }: PiHome): Promise<string> {
  return (await tracesOf(home)).trees.join('\n\n')
}
