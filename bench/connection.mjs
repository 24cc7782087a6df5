import { once } from 'node:events'
import { connect } from 'node:net'

const TAKEN = /^HTTP\/1\.1 20[04] /

/** A connection that is kept, of an agent that waits for each answer. Cheap, so that it is not what is measured. */
export class Connection {
  #socket

  static async open(port) {
    const connection = new Connection()
    connection.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    await once(connection.#socket, 'connect')
    return connection
  }

  /** Resolves to the milliseconds until it is answered; an answer has no body, and comes in one piece. */
  ask(bytes) {
    return new Promise((resolve, reject) => {
      const askedAt = performance.now()
      this.#socket.once('data', answer => {
        const millis = performance.now() - askedAt
        if (TAKEN.test(answer.latin1Slice(0, 20))) resolve(millis)
        else reject(new Error(`it is not taken: ${answer}`))
      })
      this.#socket.write(bytes)
    })
  }

  close() {
    this.#socket.destroy()
  }
}

/** A request as agents send it. */
export function requestOf(path, body, token, type = 'application/json') {
  const head = [
    `POST ${path} HTTP/1.1`,
    'accept: application/json, text/plain, */*',
    `content-type: ${type}`,
    `x-hookspan-token: ${token}`,
    'user-agent: axios/1.15.2',
    `content-length: ${Buffer.byteLength(body)}`,
    'accept-encoding: gzip, compress, deflate, br',
    'host: 127.0.0.1',
    'connection: keep-alive',
    '\r\n',
  ]
  return Buffer.from(head.join('\r\n') + body)
}
