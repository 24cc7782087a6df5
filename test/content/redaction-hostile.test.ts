import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../src/content/redaction.ts'
import { SAMPLED, sample } from '../support/sample.ts'

const redact = createRedactor({ enabled: true, patterns: [] })

describe(`hostile text, ${SAMPLED}`, () => {
  // Not timed: a pattern that backtracks badly would not come back from these before the test's own time limit.
  const size = 200_000
  it.each(
    sample(
      [
        ...['a', '-', '_', '.', '\\', '"', "'", '=', ':', ' ', '{', '[', '/', '@', '0', 'A', '\n'],
        ...[
          'sk-',
          'eyJ',
          '-eyJ',
          '.eyJa',
          'AKIA',
          '://',
          '://a:',
          '://a:b',
          'Bearer ',
          'basic ',
          '-----BEGIN PRIVATE KEY-----',
        ],
        ...[
          'password',
          'password=',
          'password="',
          "password='",
          'password: {',
          '"password":{',
          '"password":"\\',
          '\\"password\\":\\"',
        ],
        ...[
          'token ',
          'token:',
          'key',
          'api_key,',
          'Cookie: a=;',
          'Authorization: Digest a=b,',
          'Authorization: Bearer ',
          '<password>',
        ],
        ...[
          'curl -u a:',
          'mysql -p',
          '--token ',
          'pass,a=',
          'pwd\\n',
          'SG.aaaaaaaaaaaaaaaaaaaaa',
          'dp.pt.a',
          'xoxb-',
          ':AA1',
          '123456789:AA',
        ],
        ...[
          '[31m',
          '%3D',
          '\\u003d',
          'ghp_',
          'sk-proj-a',
          'hooks.slack.com/services/',
          '[REDACTED]',
          'password=[REDACTED]',
        ],
      ],
      8,
    ).map(part => [part]),
  )('is searched in linear time for repeats of %j', part => {
    const text = part.repeat(size / part.length)
    expect(redact(text).length).toBeGreaterThan(0)
    expect(redact(`${text} password=hunter2`)).not.toContain('=hunter2')
  })

  const beginnings = [
    ...[
      'password=',
      'token: ',
      '"password":"',
      "password='",
      '"password":',
      '"password":{',
      '--token ',
      '<password>',
      'api_key: ',
    ],
    ...[
      'Authorization: Digest ',
      'Authorization: Bearer ',
      'Cookie: ',
      'Bearer ',
      'basic ',
      'curl -u ',
      '?sig=',
      '\\"token\\": \\"',
    ],
    ...[
      '://',
      '://a:',
      'eyJ',
      'sk-',
      'sk-proj-',
      'ghp_',
      'SG.',
      '-----BEGIN PRIVATE KEY-----',
      'https://hooks.slack.com/services/',
    ],
  ]
  const fillers = [
    'a',
    'A1',
    ')',
    '.',
    ':',
    '"',
    '\\',
    '\\"',
    "'",
    ' ',
    '\n',
    ',',
    ',a',
    ';a=',
    'a=b,',
    '=',
    '{',
    '}',
    '@',
    '/',
    '-',
    '<',
    '%',
  ]
  it.each(sample(beginnings, 2).map(beginning => [beginning]))(
    'is masked in linear time: %j and an endless rest',
    beginning => {
      for (const filler of fillers) {
        const text = beginning + filler.repeat(50_000 / filler.length)
        expect(redact(text).length).toBeGreaterThan(0)
        expect(redact(`${text} \n password=hunter2`)).not.toContain('=hunter2')
      }
    },
  )
})

/**
 * Big enough that what looks from each of many places to the end of the text would not come back before the test's own
 * time limit; what is linear takes a second. A search for one character is so quick that it needs the larger size.
 */
const LARGE = 1_000_000
const LARGEST = 4_000_000

describe(`large hostile text, ${SAMPLED}`, () => {
  it.each(
    sample(
      [
        ...["password='", "'password':{", "with password '", "password='a", ':password> ', '<password> ', '<password'],
        ...[
          'pwd=/',
          'pwd=.',
          'Cookie:;',
          'cookie:a;',
          'cookie:a=',
          'Authorization: x ',
          'Authorization: a=b,',
          "'Authorization: ",
        ],
        ...[
          'Authorization: "',
          '"Authorization","',
          "('token', '",
          'set("token", "',
          'token("',
          '{"name":"token","value":',
          'name: token value: ',
        ],
        ...['curl -u "', "mysql -p'", 'curl -u a:"', 'docker login -p ', '["-p","', "IDENTIFIED BY '", 'identified '],
        ...[
          '-----END PRIVATE KEY-----',
          'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ',
          'patAAAAAAAAAAAAAA.',
          'M.AAAAAA.',
          '.atlasv1.',
        ],
        ...[
          '\u001b[',
          '\u001b[31',
          '\\u001b[',
          '^[[',
          '[{"a\\n',
          '{"a":"\\"',
          '["\\n-u",',
          '[[[[',
          '"\\',
          '&sig=',
          'password=a&',
          'password=a<',
        ],
        // Types, blocks, elements, records, and quotes that are spelled.
        ...[
          'password: a<',
          'password: a | ',
          'password: [a, ',
          'password { get; ',
          'password: &a ',
          'password: !!str ',
          'password: |\n a',
          'password: >-\\n ',
          '"password": |\n',
          'password="""',
          "password='\\''",
          'password&quot;',
          'password%22',
          'password\\u0022',
          'password""',
          '“password：“',
        ],
        ...[
          '<password a',
          '<password a="b">',
          '<password><![CDATA[',
          '<a name="password"',
          '<key>password</key> ',
          '&lt;password&gt;',
          'secrets set A',
          'user-secrets set ',
          'PASSWORD FOR a@',
          'sqlplus a',
          'sqlplus a/',
          'SetEnv password ',
          "OPTIONS (password '",
          'IDENTIFIED BY a ',
        ],
        ...[
          'kind: Secret\n',
          'data:\n a: b\n',
          'kind: Secret\ndata:\n  a: b\n',
          '"kind":"Secret","data":{',
          '"kty":"RSA",',
          '{"kty":"RSA","d":"',
          '"d":"aaaaaaaaaaaaaaaaaaaaaaaa1",',
          'SecureString, Value: ',
          '"Type":"SecureString",',
          '"keyName":"key1",',
          '"key1":"',
          'https://a.vault.azure.net/secrets/a"',
          'variable "password" { ',
          '"--password", default=',
          '-----BEGIN PRIVATE KEY-----","aaaaaaaaaaaaaaaaaaaaaaaa","',
          '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","-----END PRIVATE KEY-----',
        ],
        ...[
          'pulumi config set a --secret ',
          'aws ssm put-parameter --value ',
          'ConvertTo-SecureString -AsPlainText ',
          '"a" | ConvertTo-SecureString -AsPlainText ',
          'curl\n- -u\n- ',
          '["curl","-u","a:',
          "curl -u a:'\\''",
          '-token: \n',
          '://a:/',
          '://a:b/c',
          'Authorization: Hawk a=b, ',
        ],
      ],
      3,
    ).map(part => [part]),
  )('is searched in linear time for repeats of %j', part => {
    const size = /^(?:'?password'|with password|:password>)/.test(part) ? LARGEST : LARGE
    const text = part.repeat(size / part.length)
    expect(redact(text).length).toBeGreaterThan(0)
  })
})
