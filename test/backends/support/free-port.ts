import { type AddressInfo, createServer, type Server } from 'node:net'

/** Ports of the loopback interface that were free a moment ago. They are held together, so that no two are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listening()))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}

/**
 * Sees to it that nobody listens there: what was sent to our server would otherwise reach somebody else's.
 *
 * @throws when somebody does
 */
export async function expectFree(ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const server = await listening(port).catch(() => undefined)
    if (server === undefined) throw new Error(`127.0.0.1:${port} is taken: end what listens there, then try again`)
    await new Promise(resolve => server.close(resolve))
  }
}

function listening(port = 0): Promise<Server> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
