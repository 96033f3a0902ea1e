"""One replica for the whole folder: its tests must not depend on what others left in it."""

import uuid

import pytest

from security_stand import opened


@pytest.fixture(scope="session")
def stand(document_server, tmp_path_factory):
    """A ``Stand`` with a folder for its blobs."""
    import pymongo

    document_server.ensure()
    database = f"test_{uuid.uuid4().hex}"
    folder = str(tmp_path_factory.mktemp("blobs"))
    with opened(document_server, database, blobs="folder", blob_folder=folder) as found:
        yield found
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        client.drop_database(database)


@pytest.fixture
def rows(stand, document_server):
    """Count the documents of the stand's database, by collection: ``rows()``."""
    import pymongo

    name = stand.replica.settings.mongo_database
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        database = client[name]
        yield lambda: {
            collection: database[collection].count_documents({})
            for collection in sorted(database.list_collection_names())
        }
