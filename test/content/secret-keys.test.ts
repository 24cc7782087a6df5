import { describe, expect, it } from 'vitest'
import { isSecretKey } from '../../src/content/secret-keys.ts'

describe('secret keys', () => {
  it.each(
    [
      ...[
        'password',
        'PASSWORD',
        'db_password',
        'dbPassword',
        'dbpassword',
        'passwd',
        'pwd',
        'passphrase',
        'DB_PASS',
        'pass',
      ],
      ...['secret', 'client_secret', 'clientSecret', 'SECRET_KEY_BASE', 'jwtSecret', 'webhook-secret', 'secrets'],
      ...[
        'token',
        'access_token',
        'refreshToken',
        'GITHUB_TOKEN',
        'x-auth-token',
        'id_token',
        'csrf_token',
        'botToken',
      ],
      ...[
        'api_key',
        'apiKey',
        'apikey',
        'API-Key',
        'X-Api-Key',
        'APIKey',
        'access_key',
        'aws_secret_access_key',
        'api_key_2',
      ],
      ...[
        'private_key',
        'privateKeyPem',
        'encryption_key',
        'signing_key',
        'OPENAI_KEY',
        'authorization',
        'Proxy-Authorization',
      ],
      ...['cookie', 'Set-Cookie', 'cookies', 'auth', 'credentials', 'credential', 'jwt', 'bearer', 'X-Amz-Signature'],
      ...['password_confirmation', 'newPassword', 'api_key_prod'],
    ].map(name => [name]),
  )('includes %s', name => {
    expect(isSecretKey(name)).toBe(true)
  })

  it.each(
    [
      ...[
        'max_tokens',
        'maxTokens',
        'total_tokens',
        'token_count',
        'tokenCount',
        'tokens',
        'tokenizer',
        'tokenize',
        'num_tokens',
      ],
      ...['next_page_token', 'nextPageToken', 'eos_token', 'pad_token', 'special_token', 'token_type', 'token_url'],
      ...[
        'session_id',
        'session_key',
        'pattern_key',
        'key',
        'keys',
        'primary_key',
        'sort_key',
        'cache_key',
        'public_key',
        'key_id',
      ],
      ...[
        'author',
        'authority',
        'authenticated',
        'auth_type',
        'author_email',
        'keyboard',
        'monkey',
        'keyword',
        'compass',
      ],
      ...[
        'password_hash',
        'password_policy',
        'passwordResetUrl',
        'secret_name',
        'secretary',
        'cookie_name',
        'has_password',
      ],
      ...[
        'name',
        'id',
        'command',
        'path',
        'url',
        'PWD',
        'OLDPWD',
        'passed',
        'passenger',
        'bypass',
        'credit',
        '',
        'x'.repeat(300),
      ],
    ].map(name => [name]),
  )('excludes %s', name => {
    expect(isSecretKey(name)).toBe(false)
  })
})
