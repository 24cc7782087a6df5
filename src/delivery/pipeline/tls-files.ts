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
  const { name, client_certificate: certPath, client_key: keyPath } = paths
  const read = (field: 'certificate' | 'client_certificate' | 'client_key'): Buffer | undefined => {
    const path = paths[field]
    try {
      return path === undefined ? undefined : readFileSync(path)
    } catch (error) {
      warn(`backend ${name}: ${field} ${path} cannot be read (${codeOf(error)}); it is left out. Correct ${field}`)
      return undefined
    }
  }
  const ca = read('certificate')
  const trusted = ca ? { ca } : {}
  if (certPath === undefined || keyPath === undefined) {
    if (certPath === keyPath) return trusted
    const fields = ['client_certificate', 'client_key'] as const
    const [there, missing] = keyPath === undefined ? fields : fields.toReversed()
    warn(`backend ${name}: ${there} is set without ${missing}; it is left out. Set ${missing}, too`)
    return trusted
  }
  const [cert, key] = [read('client_certificate'), read('client_key')]
  if (!cert || !key) return trusted
  const wrong = certificateProblem(cert, key, certPath, keyPath)
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
