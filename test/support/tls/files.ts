import { readFileSync } from 'node:fs'
import type { TlsOptions } from 'node:tls'
import { fileURLToPath } from 'node:url'

/** Where a certificate or a key of the tests is. */
export function tlsFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

/** A server that lets in whoever shows a certificate of the tests' authority, and nobody else. */
export function mutualTls(): TlsOptions {
  const [ca, cert, key] = ['authority.pem', 'server.pem', 'server.key'].map(name => readFileSync(tlsFile(name)))
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    requestCert: true,
    rejectUnauthorized: true,
  }
}

/** The fields of a backend that such a server lets in. */
export const CLIENT_FIELDS: Readonly<Record<'certificate' | 'client_certificate' | 'client_key', string>> = {
  certificate: tlsFile('authority.pem'),
  client_certificate: tlsFile('client.pem'),
  client_key: tlsFile('client.key'),
}
