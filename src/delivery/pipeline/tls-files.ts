import { readFileSync } from 'node:fs'
import type { BackendConfig } from '../backends/backend-config.ts'
import { codeOf } from './delivery.ts'
import { tls } from './sdk.ts'

/** The CA, certificate and key for connections to one backend, as options of `node:tls`. `key` must never be shown. */
export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

export type TlsPaths = Pick<BackendConfig, 'name' | 'certificate' | 'client_certificate' | 'client_key'>

/**
 * Reads the TLS files of a backend. Unusable files are reported, one line each, and left out: the server then refuses the
 * connection, and the spans stay in the log.
 *
 * @param warn receives one line without a line break, with paths and codes but no file contents
 */
export function readTlsFiles(paths: TlsPaths, warn: (line: string) => void): TlsFiles {
  const { name, certificate, client_certificate, client_key } = paths
  const read = (field: string, path: string): Buffer | undefined => {
    try {
      return readFileSync(path)
    } catch (error) {
      warn(`backend ${name}: ${field} ${path} cannot be read (${codeOf(error)}); it is left out. Correct ${field}`)
      return undefined
    }
  }
  const ca = certificate === undefined ? undefined : read('certificate', certificate)
  const trusted = ca ? { ca } : {}
  if (client_certificate === undefined && client_key === undefined) return trusted
  if (client_certificate === undefined || client_key === undefined) {
    const [there, missing] =
      client_key === undefined ? ['client_certificate', 'client_key'] : ['client_key', 'client_certificate']
    warn(`backend ${name}: ${there} is set without ${missing}; it is left out. Set ${missing}, too`)
    return trusted
  }
  const cert = read('client_certificate', client_certificate)
  const key = read('client_key', client_key)
  if (!cert || !key) return trusted
  const wrong = certificateProblem(cert, key, client_certificate, client_key)
  if (wrong === undefined) return { ...trusted, cert, key }
  warn(`backend ${name}: ${wrong}; both are left out`)
  return trusted
}

/** Only codes are reported: messages of TLS may contain unknown data. */
function certificateProblem(cert: Buffer, key: Buffer, certPath: string, keyPath: string): string | undefined {
  const certCode = contextErrorCode({ cert })
  if (certCode !== undefined) return `client_certificate ${certPath} is no certificate in PEM (${certCode})`
  const keyCode = contextErrorCode({ key })
  if (keyCode !== undefined) return `client_key ${keyPath} is no key in PEM without a passphrase (${keyCode})`
  const code = contextErrorCode({ cert, key })
  if (code === undefined) return undefined
  return `client_key ${keyPath} is not the key of client_certificate ${certPath} (${code})`
}

function contextErrorCode(files: TlsFiles): string | undefined {
  try {
    tls().createSecureContext(files)
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}
