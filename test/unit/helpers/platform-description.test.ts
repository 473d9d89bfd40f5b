import type { Json } from '@hyperjump/json-pointer';
import { expect, test } from 'vitest';
import { PlatformDescription } from '../../helpers/platform-description.ts';
import { cut } from '../../platform-description/cut.ts';

const json = (schema: object, examples?: object) => ({ content: { 'application/json': { schema, examples } } });

/** A description of two operations, in the layout of the published one. */
const whole = {
  openapi: '3.0.3',
  info: { title: 'whole' },
  paths: {
    '/things/{id}': {
      get: {
        description: 'Prose.',
        parameters: [{ $ref: '#/components/parameters/id' }],
        responses: {
          200: {
            description: 'Prose.',
            ...json({ $ref: '#/components/schemas/thing' }, { one: { $ref: '#/components/examples/thing' } }),
          },
          404: { $ref: '#/components/responses/missing' },
        },
      },
      delete: { responses: { 204: { description: 'Prose.' } } },
    },
  },
  components: {
    parameters: { id: { name: 'id', in: 'path', required: true, description: 'Prose.', schema: { type: 'integer' } } },
    responses: { missing: { description: 'Prose.', ...json({ $ref: '#/components/schemas/basic-error' }) } },
    examples: { thing: { value: { title: 'T', note: 'optional', part: { title: 'P', note: 'optional' } } } },
    schemas: {
      thing: {
        title: 'Prose',
        type: 'object',
        required: ['title', 'part'],
        properties: {
          title: { type: 'string', description: 'Prose.', example: 'T', enum: ['T', 'P'] },
          note: { type: 'string', 'x-extension': true },
          part: { $ref: '#/components/schemas/thing' },
        },
      },
      'basic-error': { type: 'object', properties: { message: { type: 'string', default: 'no' } } },
      unused: { type: 'string' },
    },
  },
};

test('a cut holds the wanted operation, what it refers to, and no prose', () => {
  expect(cut(whole, [['get', '/things/{id}']])).toEqual({
    openapi: '3.0.3',
    paths: {
      '/things/{id}': {
        get: {
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
          responses: {
            200: {
              description: '',
              content: {
                'application/json': {
                  schema: { $ref: '#/components/schemas/thing' },
                  example: { title: 'T', part: { title: 'P' } },
                },
              },
            },
            404: {
              description: '',
              content: { 'application/json': { schema: { $ref: '#/components/schemas/basic-error' } } },
            },
          },
        },
      },
    },
    components: {
      schemas: {
        thing: {
          type: 'object',
          required: ['title', 'part'],
          properties: {
            title: { type: 'string', enum: ['T', 'P'] },
            note: { type: 'string' },
            part: { $ref: '#/components/schemas/thing' },
          },
        },
        'basic-error': { type: 'object', properties: { message: { type: 'string' } } },
      },
    },
  });
});

test('an operation that the description does not have is an error', () => {
  expect(() => cut(whole, [['patch', '/things/{id}']])).toThrow('the description has no paths /things/{id} patch');
});

test('a request or a reply that the description does not have is an error', async () => {
  const description = PlatformDescription.read();
  const ask = (path: string) =>
    description.checkRequest({ method: 'GET', url: new URL(path, 'https://platform.example.org'), body: '' });
  await expect(ask('/orgs/acme/members')).rejects.toThrow('GET /orgs/acme/members: not an operation');
  await expect(ask('/orgs/acme?expand=all')).rejects.toThrow('GET /orgs/{org}: no query parameter expand');
  await expect(ask('/repos/acme/archive/releases?per_page=many')).rejects.toThrow('per_page: ');
  const described = await ask('/repos/acme/archive/releases/7');
  const release = description.example(described.operation);
  await description.checkReply(described, 200, release as Json);
  await expect(description.checkReply(described, 200, { ...release, extra: 1 } as Json)).rejects.toThrow(
    'releases/{release_id} 200: ',
  );
  await expect(description.checkReply(described, 202, release as Json)).rejects.toThrow('no 202');
});
